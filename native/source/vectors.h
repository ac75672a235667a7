// Eight numbers at a time, with the instructions of AVX2 and F16C: loaded, rounded, stored. Included where these exist.
#pragma once
#include <immintrin.h>

#include "kinds.h"

namespace {

inline __m256 loaded(const float* x) { return _mm256_loadu_ps(x); }

inline __m256 loaded(const Float16* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

// Sixteen bfloat16 numbers are eight floats at even places and eight at odd ones: a shift and a mask widen them.
inline __m256i sixteen(const BFloat16* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
inline __m256 even(__m256i x) { return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16)); }
inline __m256 odd(__m256i x) {
  return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}

// Both rounded to the nearest, ties to even, each at its places. What adds one to the upper half of a float is that its lower
// half, plus 0x7fff, plus one where the upper is odd, reaches 2^16; that sum of 17 bits is what an average is made from.
// A NaN stays one if its lower half is 0, as then nothing is added.
inline __m256i rounded(__m256 even, __m256 odd) {
  const __m256i e = _mm256_castps_si256(even), o = _mm256_castps_si256(odd);
  const __m256i upper = _mm256_blend_epi16(_mm256_srli_epi32(e, 16), o, 0xaa);
  const __m256i lower = _mm256_blend_epi16(e, _mm256_slli_epi32(o, 16), 0xaa);
  const __m256i is_odd = _mm256_and_si256(upper, _mm256_set1_epi16(1));
  const __m256i half = _mm256_avg_epu16(lower, _mm256_add_epi16(is_odd, _mm256_set1_epi16(0x7ffe)));
  return _mm256_add_epi16(upper, _mm256_srli_epi16(half, 15));
}

// NaN made one whose lower half is 0.
inline __m256 short_nan(__m256 x) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
  return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

// Each four of eight behind those that a shuffle within 128 bits has taken: quarters 0, 2, 1, 3.
inline __m256 crossed(__m256 x) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8)); }

// `streamed`: past the caches, to an aligned place.
template <bool streamed>
inline void store(BFloat16* to, __m256i value) {
  auto* place = reinterpret_cast<__m256i*>(to);
  streamed ? _mm256_stream_si256(place, value) : _mm256_storeu_si256(place, value);
}

template <bool streamed>
inline void store(float* to, __m256 value) {
  streamed ? _mm256_stream_ps(to, value) : _mm256_storeu_ps(to, value);
}

template <bool streamed>
inline void store(Float16* to, __m256 value) {
  auto* place = reinterpret_cast<__m128i*>(to);
  const __m128i halves = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
  streamed ? _mm_stream_si128(place, halves) : _mm_storeu_si128(place, halves);
}

}  // namespace
