// As many 64-bit numbers at a time as the level has: whole ones and floats, with the operators of the language.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#endif

// One number at a time: for what is left over, and where there are no vectors.
struct One {
  using Whole = uint64_t;
  using Real = double;
  using Single = float;
  static constexpr int count = 1;
  static Whole loaded(const uint64_t* from) { return *from; }
  // The product of the lower halves.
  static Whole product(Whole a, Whole b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
  // The lower half of each below the bits of `upper`.
  static Whole joined(uint64_t upper, Whole lower) { return upper | (lower & 0xffffffffu); }
  static Whole picked(const int64_t* from, const int64_t* which) { return static_cast<Whole>(from[*which]); }
  static Real chosen(Whole sign, Real with, Real without) { return sign >> 63 ? with : without; }

  static Real read(const double* from) { return *from; }
  static void write(double* to, Real value) { *to = value; }
  static Single single(Real value) { return static_cast<float>(value); }
  // a·b - c·d and a·b + c·d, however they are rounded.
  static Real difference(Real a, Real b, Real c, Real d) { return a * b - c * d; }
  static Real sum(Real a, Real b, Real c, Real d) { return a * b + c * d; }
  // Whether all bits agree.
  static bool same(Single a, Single b, Single c, Single d) { return ((bits(a) ^ bits(b)) | (bits(c) ^ bits(d))) == 0; }

  template <bool streamed>
  static void put(float* to, Single value) {
    *to = value;
  }
  // By turns.
  template <bool streamed>
  static void put_both(float* to, Single first, Single second) {
    to[0] = first;
    to[1] = second;
  }

 private:
  static uint32_t bits(float number) {
    uint32_t found;
    std::memcpy(&found, &number, sizeof found);
    return found;
  }
};

#if defined(__AVX2__)
struct Many {
  typedef uint64_t Whole __attribute__((vector_size(8 * kLanes)));
  typedef int64_t Signed __attribute__((vector_size(8 * kLanes)));
  typedef double Real __attribute__((vector_size(8 * kLanes)));
  typedef float Single __attribute__((vector_size(4 * kLanes)));
  static constexpr int count = kLanes;

  static Whole loaded(const uint64_t* from) {
    typedef Whole Anywhere __attribute__((aligned(8), may_alias));
    return *reinterpret_cast<const Anywhere*>(from);
  }

  static Whole product(Whole a, Whole b) {
#if defined(__AVX512F__)
    return (Whole)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#else
    return (Whole)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
  }

  static Whole joined(uint64_t upper, Whole lower) {
#if defined(__AVX512F__)
    return (Whole)_mm512_mask_blend_epi32(0xaaaa, (__m512i)lower, (__m512i)(Whole{} + upper));
#else
    return (Whole)_mm256_blend_epi32((__m256i)lower, (__m256i)(Whole{} + upper), 0xaa);
#endif
  }

  static Real chosen(Whole sign, Real with, Real without) { return (Signed)sign < 0 ? with : without; }

  static Whole picked(const int64_t* from, const int64_t* which) {
    Whole found;
    for (int lane = 0; lane < count; ++lane) found[lane] = static_cast<uint64_t>(from[which[lane]]);
    return found;
  }

  static Real read(const double* from) {
    typedef Real Anywhere __attribute__((aligned(8), may_alias));
    return *reinterpret_cast<const Anywhere*>(from);
  }
  static void write(double* to, Real value) { std::memcpy(to, &value, sizeof value); }
  static Single single(Real value) { return __builtin_convertvector(value, Single); }

  static Real difference(Real a, Real b, Real c, Real d) {
#if defined(__AVX512F__)
    return (Real)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)(c * d));
#else
    return (Real)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)(c * d));
#endif
  }

  static Real sum(Real a, Real b, Real c, Real d) {
#if defined(__AVX512F__)
    return (Real)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)(c * d));
#else
    return (Real)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)(c * d));
#endif
  }

  static bool same(Single a, Single b, Single c, Single d) {
#if defined(__AVX512F__)
    const __m256i apart = _mm256_or_si256(_mm256_xor_si256((__m256i)a, (__m256i)b), _mm256_xor_si256((__m256i)c, (__m256i)d));
    return _mm256_testz_si256(apart, apart);
#else
    const __m128i apart = _mm_or_si128(_mm_xor_si128((__m128i)a, (__m128i)b), _mm_xor_si128((__m128i)c, (__m128i)d));
    return _mm_testz_si128(apart, apart);
#endif
  }

  // streamed: without reading the lines of memory first; `to` lies on a multiple of what is written.
  template <bool streamed>
  static void put(float* to, Single value) {
#if defined(__AVX512F__)
    if constexpr (streamed) return _mm256_stream_ps(to, (__m256)value);
#else
    if constexpr (streamed) return _mm_stream_ps(to, (__m128)value);
#endif
    std::memcpy(to, &value, sizeof value);
  }

  template <bool streamed>
  static void put_both(float* to, Single first, Single second) {
#if defined(__AVX512F__)
    const auto both = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    if constexpr (streamed) return _mm512_stream_ps(to, (__m512)both);
#else
    const auto both = __builtin_shufflevector(first, second, 0, 4, 1, 5, 2, 6, 3, 7);
    if constexpr (streamed) return _mm256_stream_ps(to, (__m256)both);
#endif
    std::memcpy(to, &both, sizeof both);
  }
};
#endif

}  // namespace
