// Cosine and sine of position × frequency: the angle as a fraction of a turn in whole numbers, then polynomials in double precision.
//
// Every level does these operations in this order and rounds each, so all give the same bits. Internal linkage as in rows.h.
#pragma once
#include <cstdint>
#include <cstring>

#include "lanes.h"
#include "rotate.h"

namespace {

using namespace posenc;

constexpr uint64_t kLow = 0xffffffffu;             // the bits of one limb
constexpr uint64_t kFarthest = uint64_t{1} << 53;  // beyond it positions are not exact anywhere else: NaN
constexpr uint64_t kSign = uint64_t{1} << 63;

template <typename To, typename From>
inline To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Cosine and sine of many angles.
template <typename V>
struct Pair {
  typename V::Real cosine, sine;
};

template <typename V>
inline Pair<V> read(const Block& block, int64_t i) {
  return {V::read(block.cosine + i), V::read(block.sine + i)};
}

template <typename V>
inline void write(Block& block, int64_t i, const Pair<V>& pair) {
  V::write(block.cosine + i, pair.cosine);
  V::write(block.sine + i, pair.sine);
}

template <typename V>
inline Pair<V> product(const Pair<V>& a, const Pair<V>& b) {
  return {V::difference(a.cosine, b.cosine, a.sine, b.sine), V::sum(a.sine, b.cosine, a.cosine, b.sine)};
}

// The lower 32 bits of each number as a float: as the last bits of 2^52 + number.
template <typename V>
inline typename V::Real real(typename V::Whole number, double less = 0.0) {
  return bits_of<typename V::Real>(V::joined(0x4330000000000000u, number)) - (0x1p52 + less);
}

// The upper 64 bits of a fraction of a turn, an eighth added: the nearest quarter is its upper two bits.
template <typename V>
inline typename V::Whole raised(typename V::Whole top) {
  return top + (uint64_t{1} << 61);
}

// What those bits are off that quarter, in parts of 2^-32 turns. Parts further down are to be added one by one, so that
// what cancels does so before anything is rounded.
template <typename V>
inline typename V::Real off(typename V::Whole raised) {
  return real<V>((raised >> 32) & 0x3fffffffu, 0x1p29) + real<V>(raised) * 0x1p-32;
}

// Cosine and sine of a quarter of a turn and what is off it; the sine turned around by the sign bit of `sign`.
template <typename V>
inline Pair<V> waves_of(typename V::Whole raised, typename V::Real off, typename V::Whole sign) {
  using Whole = typename V::Whole;
  using Real = typename V::Real;
  const Real x = off * (6.283185307179586 * 0x1p-32), z = x * x, zz = z * z, zzzz = zz * zz;
  // Best approximations of (sin x / x - 1) / x² and (cos x - 1 + x²/2) / x⁴ up to an eighth of a turn, to 2^-55.
  const Real s = (-0x1.5555555555555p-3 + 0x1.1111111110bb2p-7 * z) + zz * (-0x1.a01a019e83aaep-13 + 0x1.71de37968a024p-19 * z) +
                 zzzz * (-0x1.ae600b02a7c74p-26 + 0x1.5e0b19f38405ap-33 * z);
  const Real c = (0x1.5555555555555p-5 + -0x1.6c16c16c16967p-10 * z) + zz * (0x1.a01a019f4eb00p-16 + -0x1.27e4fa17da030p-22 * z) +
                 zzzz * (0x1.1eeb68e934339p-29 + -0x1.907da36274fc5p-37 * z);
  const Real sine = x + x * (z * s), cosine = 1.0 - (0.5 * z - zz * c);
  const Whole odd = raised << 1, beyond = raised + (uint64_t{1} << 62);  // sign bits: an odd quarter, the second or third
  const Whole first = bits_of<Whole>(V::chosen(odd, sine, cosine)), second = bits_of<Whole>(V::chosen(odd, cosine, sine));
  return {bits_of<Real>(first ^ (beyond & kSign)), bits_of<Real>(second ^ ((raised ^ sign) & kSign))};
}

// At a position below 2^32: position × frequency digit by digit, of which whole turns run over the top and are gone.
template <typename V>
inline Pair<V> near(typename V::Whole place, typename V::Whole sign, const uint64_t* rates, int64_t pairs) {
  auto digit = [&](int limb) { return V::product(place, V::loaded(rates + limb * pairs)); };
  const auto third = digit(2) + (digit(3) >> 32);
  const auto top = (digit(0) << 32) + digit(1) + (third >> 32);
  const auto from = raised<V>(top);
  return waves_of<V>(from, off<V>(from) + real<V>(third) * 0x1p-64, sign);
}

// At a position up to 2^53, or for a frequency of which little is in the limbs that `near` reads; one at a time.
inline Pair<One> far(uint64_t place, uint64_t sign, const uint64_t* rates, int64_t pairs) {
  uint64_t digit[kLimbs], low = 0, high = 0, carry = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    low = (place & kLow) * rates[i * pairs] + (low >> 32);
    high = (i + 1 < kLimbs ? (place >> 32) * rates[(i + 1) * pairs] : 0) + (high >> 32);
    carry = (low & kLow) + (high & kLow) + (carry >> 32);
    digit[i] = carry & kLow;
  }
  const uint64_t from = raised<One>(digit[0] << 32 | digit[1]);
  double left = off<One>(from), unit = 0x1p-64;
  for (int i = 2; i < kLimbs; ++i, unit *= 0x1p-32) left += real<One>(digit[i]) * unit;
  return waves_of<One>(from, left, sign);
}

inline uint64_t magnitude(int64_t place) {
  return place < 0 ? uint64_t{0} - static_cast<uint64_t>(place) : static_cast<uint64_t>(place);
}

// Whether `near` reads enough at this place.
inline bool is_near(const Angles& angles, const int64_t* place) {
  bool all = !angles.fine;
  for (int64_t axis = 0; axis < angles.axes; ++axis) all &= magnitude(place[axis]) <= kLow;
  return all;
}

// Cosines and sines of pairs `i`, `i + 1`, … of one place whose coordinates lie below 2^32.
template <typename V>
inline Pair<V> near_at(const Angles& angles, const int64_t* place, int64_t i) {
  using Whole = typename V::Whole;
  Whole at;
  if (angles.axes == 1)
    at = Whole{} + static_cast<uint64_t>(*place);
  else
    at = V::picked(place, angles.axis + i);
  const Whole sign = at & kSign, behind = Whole{} - (at >> 63);  // all bits, or none
  return near<V>((at ^ behind) - behind, sign, angles.rates + i, angles.pairs);
}

// The same at any place, one after the other; NaN where it is too far away.
template <typename V>
__attribute__((noinline)) Pair<V> far_at(const Angles& angles, const int64_t* place, int64_t i) {
  double cosine[V::count], sine[V::count];
  for (int lane = 0; lane < V::count; ++lane) {
    const int64_t at = place[angles.axes == 1 ? 0 : angles.axis[i + lane]];
    const Pair<One> pair = far(magnitude(at), static_cast<uint64_t>(at) & kSign, angles.rates + i + lane, angles.pairs);
    const double kept = magnitude(at) > kFarthest ? bits_of<double>(uint64_t{0x7ff8000000000000u}) : 1.0;
    cosine[lane] = pair.cosine * kept;
    sine[lane] = pair.sine * kept;
  }
  return {V::read(cosine), V::read(sine)};
}

template <typename V>
inline Pair<V> alone(const Angles& angles, const int64_t* place, int64_t i, bool close) {
  return close ? near_at<V>(angles, place, i) : far_at<V>(angles, place, i);
}

// Calls `each` with the type of so many lanes, and the first of them, until all pairs from `begin` to `end` have been; one by
// one from where a vector would reach beyond `whole`.
template <typename Each>
inline void in_lanes(int64_t begin, int64_t end, [[maybe_unused]] int64_t whole, Each each) {
  int64_t i = begin;
#if defined(__AVX2__)
  for (; i + Many::count <= whole; i += Many::count) each(Many{}, i);
#endif
  for (; i < end; ++i) each(One{}, i);
}

}  // namespace
