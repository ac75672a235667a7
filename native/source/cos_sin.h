// Cosine and sine of position × frequency: the angle as a fraction of a revolution in integers, then polynomials in
// double precision.
//
// Every instruction set does these operations in this order and rounds each, so all give the same bits.
#pragma once
#include "instruction_set.h"
#include "vectors.h"

namespace {

using namespace posenc;

constexpr uint64_t kLow = 0xffffffffu;             // the bits of one limb
constexpr uint64_t kFarthest = uint64_t{1} << 53;  // beyond it a position is not exact in double precision: NaN
constexpr uint64_t kSign = uint64_t{1} << 63;

// N numbers of 64 bits at a time: integers and doubles, and what is read and computed of them where operators do not
// say it.
template <int N>
struct Lanes {
  using Whole = Vector<uint64_t, N>;
  using Real = Vector<double, N>;
  using Single = Vector<float, N>;
  static constexpr int count = N;

  // The product of the lower halves.
  static Whole product(Whole a, Whole b) {
#if defined(__AVX512F__)
    if constexpr (N == 8) return (Whole)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    if constexpr (N == 4) return (Whole)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
    return (a & kLow) * (b & kLow);
  }

  // a·b - c·d, fused or not.
  static Real difference(Real a, Real b, Real c, Real d) {
#if defined(__AVX512F__)
    if constexpr (N == 8) return (Real)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)(c * d));
#elif defined(__AVX2__)
    if constexpr (N == 4) return (Real)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)(c * d));
#endif
    return a * b - c * d;
  }

  // a·b + c·d, fused or not.
  static Real sum(Real a, Real b, Real c, Real d) {
#if defined(__AVX512F__)
    if constexpr (N == 8) return (Real)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)(c * d));
#elif defined(__AVX2__)
    if constexpr (N == 4) return (Real)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)(c * d));
#endif
    return a * b + c * d;
  }

  static Single single(Real value) {
    if constexpr (N == 1)
      return static_cast<float>(value);
    else
      return __builtin_convertvector(value, Single);
  }

  static Whole gather(const int64_t* from, const int64_t* index) {
    if constexpr (N == 1) return static_cast<Whole>(from[*index]);
    uint64_t values[N];
    for (int lane = 0; lane < N; ++lane) values[lane] = static_cast<uint64_t>(from[index[lane]]);
    return read<Whole>(values);
  }
};

using ScalarLane = Lanes<1>;
#if defined(__AVX2__)
using WideLanes = Lanes<kLanes / 2>;
#else
using WideLanes = ScalarLane;
#endif

// Cosine and sine of many angles.
template <typename V>
struct CosSin {
  typename V::Real cosine, sine;
};

template <typename V>
inline CosSin<V> read_tile(const CosSinTile& tile, int64_t i) {
  return {read<typename V::Real>(tile.cosine + i), read<typename V::Real>(tile.sine + i)};
}

template <typename V>
inline void write_tile(CosSinTile& tile, int64_t i, const CosSin<V>& value) {
  write<false>(tile.cosine + i, value.cosine);
  write<false>(tile.sine + i, value.sine);
}

// The cosine and sine of the sum of both angles.
template <typename V>
inline CosSin<V> product(const CosSin<V>& a, const CosSin<V>& b) {
  return {V::difference(a.cosine, b.cosine, a.sine, b.sine), V::sum(a.sine, b.cosine, a.cosine, b.sine)};
}

// The lower 32 bits of each number as a double, less a constant: they are the last bits of 2^52 + number.
template <typename V>
inline typename V::Real real(typename V::Whole number, double less = 0.0) {
  return bits_of<typename V::Real>((number & kLow) | 0x4330000000000000u) - (0x1p52 + less);
}

// The upper 64 bits of a fraction of a revolution, plus an eighth: the nearest quarter is their upper two bits.
template <typename V>
inline typename V::Whole raise(typename V::Whole top) {
  return top + (uint64_t{1} << 61);
}

// The angle from that quarter, in 2^-32 revolutions. Bits further down are to be added one by one, so that what
// cancels does so before anything is rounded.
template <typename V>
inline typename V::Real remainder_of(typename V::Whole raised) {
  return real<V>((raised >> 32) & 0x3fffffffu, 0x1p29) + real<V>(raised) * 0x1p-32;
}

// Cosine and sine of a quarter of a revolution and the remainder; the sign bit of `sign` is that of the sine.
template <typename V>
inline CosSin<V> cos_sin_of(typename V::Whole raised, typename V::Real remainder, typename V::Whole sign) {
  using Whole = typename V::Whole;
  using Real = typename V::Real;
  const Real x = remainder * (6.283185307179586 * 0x1p-32), z = x * x, zz = z * z, zzzz = zz * zz;
  // Best approximations of (sin x / x - 1) / x² and (cos x - 1 + x²/2) / x⁴ up to an eighth of a revolution, to 2^-55.
  const Real s = (-0x1.5555555555555p-3 + 0x1.1111111110bb2p-7 * z) +
                 zz * (-0x1.a01a019e83aaep-13 + 0x1.71de37968a024p-19 * z) +
                 zzzz * (-0x1.ae600b02a7c74p-26 + 0x1.5e0b19f38405ap-33 * z);
  const Real c = (0x1.5555555555555p-5 + -0x1.6c16c16c16967p-10 * z) +
                 zz * (0x1.a01a019f4eb00p-16 + -0x1.27e4fa17da030p-22 * z) +
                 zzzz * (0x1.1eeb68e934339p-29 + -0x1.907da36274fc5p-37 * z);
  const Real sine = x + x * (z * s), cosine = 1.0 - (0.5 * z - zz * c);
  const auto is_odd = bits_of<Vector<int64_t, V::count>>(raised << 1) < 0;
  const Whole opposite = raised + (uint64_t{1} << 62);  // its sign bit: the second or third quarter
  const Real first = is_odd ? sine : cosine, second = is_odd ? cosine : sine;
  return {bits_of<Real>(bits_of<Whole>(first) ^ (opposite & kSign)),
          bits_of<Real>(bits_of<Whole>(second) ^ ((raised ^ sign) & kSign))};
}

// At a position below 2^32: position × frequency limb by limb, of which whole revolutions overflow and vanish.
template <typename V>
inline CosSin<V> near(typename V::Whole position, typename V::Whole sign, const uint64_t* limbs, int64_t pairs) {
  auto times = [&](int limb) { return V::product(position, read<typename V::Whole>(limbs + limb * pairs)); };
  const auto third = times(2) + (times(3) >> 32);
  const auto raised = raise<V>((times(0) << 32) + times(1) + (third >> 32));
  return cos_sin_of<V>(raised, remainder_of<V>(raised) + real<V>(third) * 0x1p-64, sign);
}

// At a position up to 2^53, or for a frequency that is mostly below the limbs that `near` reads; one at a time.
inline CosSin<ScalarLane> far(uint64_t position, uint64_t sign, const uint64_t* limbs, int64_t pairs) {
  uint64_t digit[kLimbs], low = 0, high = 0, carry = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    low = (position & kLow) * limbs[i * pairs] + (low >> 32);
    high = (i + 1 < kLimbs ? (position >> 32) * limbs[(i + 1) * pairs] : 0) + (high >> 32);
    carry = (low & kLow) + (high & kLow) + (carry >> 32);
    digit[i] = carry & kLow;
  }
  const uint64_t raised = raise<ScalarLane>(digit[0] << 32 | digit[1]);
  double remainder = remainder_of<ScalarLane>(raised), unit = 0x1p-64;
  for (int i = 2; i < kLimbs; ++i, unit *= 0x1p-32) remainder += real<ScalarLane>(digit[i]) * unit;
  return cos_sin_of<ScalarLane>(raised, remainder, sign);
}

inline uint64_t magnitude(int64_t position) {
  return position < 0 ? uint64_t{0} - static_cast<uint64_t>(position) : static_cast<uint64_t>(position);
}

// Whether `near` reads enough at this position.
inline bool is_near(const Angles& angles, const int64_t* position) {
  bool all = !angles.tiny;
  for (int64_t axis = 0; axis < angles.axes; ++axis) all &= magnitude(position[axis]) <= kLow;
  return all;
}

// Pairs `i`, `i + 1`, … at one position whose coordinates are below 2^32.
template <typename V>
inline CosSin<V> near_at(const Angles& angles, const int64_t* position, int64_t i) {
  using Whole = typename V::Whole;
  const Whole at = angles.axes == 1 ? Whole{} + static_cast<uint64_t>(*position) : V::gather(position, angles.axis + i);
  const Whole negative = Whole{} - (at >> 63);  // all bits, or none
  return near<V>((at ^ negative) - negative, at & kSign, angles.limbs + i, angles.pairs);
}

// The same at any position, one after the other; NaN where it is too far away.
template <typename V>
__attribute__((noinline)) CosSin<V> far_at(const Angles& angles, const int64_t* position, int64_t i) {
  double cosine[V::count], sine[V::count];
  for (int lane = 0; lane < V::count; ++lane) {
    const int64_t at = position[angles.axes == 1 ? 0 : angles.axis[i + lane]];
    const auto value = far(magnitude(at), static_cast<uint64_t>(at) & kSign, angles.limbs + i + lane, angles.pairs);
    const double kept = magnitude(at) > kFarthest ? bits_of<double>(uint64_t{0x7ff8000000000000u}) : 1.0;
    cosine[lane] = value.cosine * kept;
    sine[lane] = value.sine * kept;
  }
  return {read<typename V::Real>(cosine), read<typename V::Real>(sine)};
}

// Pairs `i`, `i + 1`, … from their angles; `close`: whether `near` reads enough.
template <typename V>
inline CosSin<V> direct(const Angles& angles, const int64_t* position, int64_t i, bool close) {
  return close ? near_at<V>(angles, position, i) : far_at<V>(angles, position, i);
}

// Calls `each` with lanes and the first pair that they take, until all pairs from `begin` to `end` are done; one by one
// from where vectors would reach beyond `whole`.
template <typename Each>
inline void for_lanes(int64_t begin, int64_t end, int64_t whole, Each each) {
  int64_t i = begin;
  if constexpr (WideLanes::count > 1)
    for (; i + WideLanes::count <= whole; i += WideLanes::count) each(WideLanes{}, i);
  for (; i < end; ++i) each(ScalarLane{}, i);
}

}  // namespace
