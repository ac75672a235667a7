// Vectors of as many numbers as the instruction set holds, by the vector types of GCC and Clang: arithmetic and
// shuffles are written once, and intrinsics only where the language has no operator.
#pragma once
#include <cstdint>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "dtype.h"

namespace {

// Numbers of float32 in the widest vector.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

template <typename T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <typename T>
struct VectorOf<T, 1> {
  using type = T;
};
template <typename T, int N>
using Vector = typename VectorOf<T, N>::type;
template <int N>
using Floats = Vector<float, N>;
template <int N>
using Words = Vector<uint32_t, N>;

// A vector from any address.
template <typename V>
inline V read(const void* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A vector to any address; `streamed`: past the caches, to a multiple of its size.
template <bool streamed, typename V>
inline void write(void* to, V value) {
#if defined(__AVX512F__)
  if constexpr (streamed && sizeof value == 64) return _mm512_stream_si512(static_cast<__m512i*>(to), (__m512i)value);
#endif
#if defined(__AVX2__)
  if constexpr (streamed && sizeof value == 32) return _mm256_stream_si256(static_cast<__m256i*>(to), (__m256i)value);
#endif
#if defined(__x86_64__)
  if constexpr (streamed && sizeof value == 16) return _mm_stream_si128(static_cast<__m128i*>(to), (__m128i)value);
#endif
  std::memcpy(to, &value, sizeof value);
}

// Whether any bit of any word is set.
template <int N>
inline bool any(Words<N> x) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return _mm512_test_epi32_mask((__m512i)x, (__m512i)x) != 0;
#endif
#if defined(__AVX2__)
  if constexpr (N == 8) return !_mm256_testz_si256((__m256i)x, (__m256i)x);
  if constexpr (N == 4) return !_mm_testz_si128((__m128i)x, (__m128i)x);
#endif
  uint32_t bits = 0;
  for (int lane = 0; lane < N; ++lane) bits |= x[lane];
  return bits != 0;
}

template <auto index, typename V, int... lane>
inline auto shuffle(V low, V high, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(low, high, index(lane)...);
}

// Lane j of the result is lane index(j) of both vectors, one after the other.
template <auto index, typename V>
inline V shuffle(V low, V high) {
  return shuffle<index>(low, high, std::make_integer_sequence<int, sizeof(V) / sizeof(low[0])>{});
}

// A vector of twice as many lanes.
template <typename V>
inline auto concatenate(V low, V high) {
  constexpr auto same = [](int j) { return j; };
  return shuffle<same>(low, high, std::make_integer_sequence<int, 2 * sizeof(V) / sizeof(low[0])>{});
}

// Lanes at even and at odd places of two vectors, and two vectors by turns.
template <int N, int odd>
constexpr auto kEvery = [](int j) { return 2 * j + odd; };
template <int N, int second>
constexpr auto kByTurns = [](int j) { return j / 2 + second * N / 2 + j % 2 * N; };

// The same within each 128 bits, where shuffles are cheap; `kWithin` is the order that results.
template <int N, int odd>
constexpr auto kEveryWithin = [](int j) { return j / 4 * 4 + j % 2 * 2 + odd + j % 4 / 2 * N; };
template <int N, int second>
constexpr auto kByTurnsWithin = [](int j) { return j / 4 * 4 + second * 2 + j % 4 / 2 + j % 2 * N; };
template <int N>
constexpr auto kWithin = [](int j) { return j / 4 * 2 + j % 2 + j % 4 / 2 * N / 2; };

// N numbers of float32 or float16 as float32, and back, rounded to nearest, ties to even.
template <int N>
inline Floats<N> load(const float* x) {
  return read<Floats<N>>(x);
}

template <int N>
inline Floats<N> load(const Float16* x) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return (Floats<N>)_mm512_cvtph_ps(read<__m256i>(x));
#endif
#if defined(__F16C__)
  if constexpr (N == 8) return (Floats<N>)_mm256_cvtph_ps(read<__m128i>(x));
  if constexpr (N == 4) return (Floats<N>)_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
#endif
  Floats<N> value;
  for (int i = 0; i < N; ++i) value[i] = widen(x[i]);
  return value;
}

template <bool streamed, int N>
inline void store(float* to, Floats<N> value) {
  write<streamed>(to, value);
}

template <bool streamed, int N>
inline void store(Float16* to, Floats<N> value) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return write<streamed>(to, _mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT));
#endif
#if defined(__F16C__)
  if constexpr (N == 8) return write<streamed>(to, _mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT));
  if constexpr (N == 4)
    return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtps_ph((__m128)value, _MM_FROUND_TO_NEAREST_INT));
#endif
  for (int i = 0; i < N; ++i) narrow(value[i], to + i);
}

// A word holds two numbers of bfloat16, which a shift and a mask widen.
template <int N>
inline Floats<N> even(Words<N> x) {
  return (Floats<N>)(x << 16);
}

template <int N>
inline Floats<N> odd(Words<N> x) {
  return (Floats<N>)(x & 0xffff0000u);
}

// A NaN becomes one whose lower half is 0, which `round_up` does not change.
template <int N>
inline Floats<N> short_nan(Floats<N> x) {
  return x == x ? x : (Floats<N>)(Words<N>{} + 0x7fc00000u);
}

// The upper half of each number is it rounded to bfloat16.
template <int N>
inline Words<N> round_up(Floats<N> x) {
  const Words<N> bits = (Words<N>)x;
  return bits + (0x7fffu + ((bits >> 16) & 1u));
}

#if defined(__AVX512BF16__)
// VCVTNE2PS2BF16 takes subnormal numbers for zero, whatever the processor is set to: none may be here.
constexpr int kRoundedByInstruction = 16;  // lanes

inline bool has_subnormal(Floats<16> x, Floats<16> y) {
  constexpr int kSubnormal = 0x20;
  const __mmask16 in_x = _mm512_fpclass_ps_mask((__m512)x, kSubnormal),
                  in_y = _mm512_fpclass_ps_mask((__m512)y, kSubnormal);
  return !_kortestz_mask16_u8(in_x, in_y);
}

inline Words<16> round_by_instruction(Floats<16> even, Floats<16> odd) {
  alignas(64) static constexpr uint16_t kOrder[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even);
  return (Words<16>)_mm512_permutexvar_epi16(_mm512_load_si512(kOrder), both);
}
#elif defined(BFLOAT16_MODEL)
#include BFLOAT16_MODEL  // the same by a model of the instruction, for tests
#else
constexpr int kRoundedByInstruction = 0;
#endif

// The inverse of `even` and `odd`: both rounded to bfloat16, to nearest, ties to even. Every NaN has a lower half of 0.
template <int N>
inline Words<N> round_to_bfloat16(Floats<N> even, Floats<N> odd) {
  if constexpr (N == kRoundedByInstruction)
    if (!has_subnormal(even, odd)) [[likely]]
      return round_by_instruction(even, odd);
  return (round_up<N>(odd) & 0xffff0000u) | (round_up<N>(even) >> 16);
}

}  // namespace
