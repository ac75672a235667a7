// Sixteen pairs, or eight beside each other, at a time, with the instructions of AVX2 and F16C. Included by rows.h where these exist.
#pragma once
#include <immintrin.h>

namespace {

inline __m256 loaded(const float* x) { return _mm256_loadu_ps(x); }

inline __m256 loaded(const BFloat16* x) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

inline __m256 loaded(const Float16* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

inline void store(float* x, __m256 low, __m256 high) {
  _mm256_storeu_ps(x, low);
  _mm256_storeu_ps(x + 8, high);
}

inline void store(Float16* x, __m256 low, __m256 high) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(x), _mm256_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(x + 8), _mm256_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT));
}

// The upper half of each number, rounded to the nearest, ties to even; of a NaN this makes something else.
inline __m256i upper(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
}

// The upper half of each number as it is, a NaN made quiet, as rounding keeps it.
inline __m256i upper_of_nan(__m256 value, __m256i rounded) {
  const __m256i quiet = _mm256_or_si256(_mm256_castps_si256(value), _mm256_set1_epi32(0x400000));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, _mm256_srli_epi32(quiet, 16), is_nan);
}

inline void store(BFloat16* x, __m256 low, __m256 high) {
  __m256i first = upper(low), second = upper(high);
  if (_mm256_movemask_ps(_mm256_cmp_ps(low, high, _CMP_UNORD_Q))) [[unlikely]] {
    first = upper_of_nan(low, first);
    second = upper_of_nan(high, second);
  }
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(first, second), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), packed);
}

struct Both {
  __m256 first, second;
};

// Eight pairs from one place on.
template <typename T>
inline Both eight(const T* first, const T* second, const float* cosine, const float* sine, __m256 signs) {
  const __m256 a = loaded(first), b = loaded(second), c = _mm256_loadu_ps(cosine);
  const __m256 s = _mm256_mul_ps(_mm256_loadu_ps(sine), signs);
  return {_mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)), _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c))};
}

// Pairs (first[i], second[i]), sixteen at a time; how many were turned.
template <typename T>
inline int64_t turned_halves(const T* first, const T* second, T* to_first, T* to_second, const float* cosine,
                             const float* sine, float sign, int64_t pairs) {
  const __m256 signs = _mm256_set1_ps(sign);
  int64_t i = 0;
  for (; i + 16 <= pairs; i += 16) {
    const Both low = eight(first + i, second + i, cosine + i, sine + i, signs);
    const Both high = eight(first + i + 8, second + i + 8, cosine + i + 8, sine + i + 8, signs);
    store(to_first + i, low.first, high.first);
    store(to_second + i, low.second, high.second);
  }
  return i;
}

// Four pairs (x[2i], x[2i+1]). a·c - b·s is a·c + b·(-s) to the bit.
template <typename T>
inline __m256 four(const T* x, const float* cosine, const float* sine, __m256 signs) {
  const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  const __m256 both = loaded(x), swapped = _mm256_permute_ps(both, 0xb1);
  const __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cosine)), twice);
  const __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sine)), twice);
  return _mm256_add_ps(_mm256_mul_ps(both, c), _mm256_mul_ps(swapped, _mm256_mul_ps(s, signs)));
}

// Pairs (x[2i], x[2i+1]), eight at a time; how many were turned.
template <typename T>
inline int64_t turned_adjacent(const T* x, T* to, const float* cosine, const float* sine, float sign, int64_t pairs) {
  const __m256 signs = _mm256_setr_ps(-sign, sign, -sign, sign, -sign, sign, -sign, sign);
  int64_t i = 0;
  for (; i + 8 <= pairs; i += 8) {
    const __m256 low = four(x + 2 * i, cosine + i, sine + i, signs);
    const __m256 high = four(x + 2 * i + 8, cosine + i + 4, sine + i + 4, signs);
    store(to + 2 * i, low, high);
  }
  return i;
}

}  // namespace
