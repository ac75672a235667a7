// Sixteen pairs, or eight beside each other, at a time, with the instructions of AVX-512 (F, BW, VL, DQ); the last ones under a mask.
// Included by rows.h where these exist.
#pragma once
#include <immintrin.h>

namespace {

// Which of sixteen lanes are there: all of them, or the first ones.
struct All {};
struct Some {
  __mmask16 lanes;
  __mmask8 of_pairs;  // half as many
};

inline Some first_lanes(int64_t count) {
  return {static_cast<__mmask16>((1u << count) - 1u), static_cast<__mmask8>((1u << count / 2) - 1u)};
}

inline __m512 loaded(const float* x, All) { return _mm512_loadu_ps(x); }
inline __m512 loaded(const float* x, Some some) { return _mm512_maskz_loadu_ps(some.lanes, x); }
inline __m256i halves(const void* x, All) { return _mm256_loadu_si256(static_cast<const __m256i*>(x)); }
inline __m256i halves(const void* x, Some some) { return _mm256_maskz_loadu_epi16(some.lanes, x); }

template <typename Lanes>
inline __m512 loaded(const BFloat16* x, Lanes lanes) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves(x, lanes)), 16));
}

template <typename Lanes>
inline __m512 loaded(const Float16* x, Lanes lanes) {
  return _mm512_cvtph_ps(halves(x, lanes));
}

inline void store(float* x, __m512 value, All) { _mm512_storeu_ps(x, value); }
inline void store(float* x, __m512 value, Some some) { _mm512_mask_storeu_ps(x, some.lanes, value); }
inline void store_halves(void* x, __m256i value, All) { _mm256_storeu_si256(static_cast<__m256i*>(x), value); }
inline void store_halves(void* x, __m256i value, Some some) { _mm256_mask_storeu_epi16(x, some.lanes, value); }

template <typename Lanes>
inline void store(Float16* x, __m512 value, Lanes lanes) {
  store_halves(x, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT), lanes);
}

// The upper half of each number, rounded to the nearest, ties to even; that of a NaN as it is, made quiet.
template <typename Lanes>
inline void store(BFloat16* x, __m512 value, Lanes lanes) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 none = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i kept = _mm512_mask_or_epi32(rounded, none, bits, _mm512_set1_epi32(0x400000));
  store_halves(x, _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16)), lanes);
}

// Pairs (first[i], second[i]) of these lanes.
template <typename T, typename Lanes>
inline void turned_lanes(const T* first, const T* second, T* to_first, T* to_second, const float* cosine,
                         const float* sine, __m512 signs, Lanes lanes) {
  const __m512 a = loaded(first, lanes), b = loaded(second, lanes), c = loaded(cosine, lanes);
  const __m512 s = _mm512_mul_ps(loaded(sine, lanes), signs);
  store(to_first, _mm512_sub_ps(_mm512_mul_ps(a, c), _mm512_mul_ps(b, s)), lanes);
  store(to_second, _mm512_add_ps(_mm512_mul_ps(a, s), _mm512_mul_ps(b, c)), lanes);
}

// Pairs (first[i], second[i]), sixteen at a time; how many were turned: all.
template <typename T>
inline int64_t turned_halves(const T* first, const T* second, T* to_first, T* to_second, const float* cosine,
                             const float* sine, float sign, int64_t pairs) {
  const __m512 signs = _mm512_set1_ps(sign);
  int64_t i = 0;
  for (; i + 16 <= pairs; i += 16)
    turned_lanes(first + i, second + i, to_first + i, to_second + i, cosine + i, sine + i, signs, All{});
  if (i < pairs)
    turned_lanes(first + i, second + i, to_first + i, to_second + i, cosine + i, sine + i, signs, first_lanes(pairs - i));
  return pairs;
}

inline __m512 both_of(__m256 waves) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(waves));
}

inline __m512 both_of(const float* waves, All) { return both_of(_mm256_loadu_ps(waves)); }

inline __m512 both_of(const float* waves, Some some) { return both_of(_mm256_maskz_loadu_ps(some.of_pairs, waves)); }

// Pairs (x[2i], x[2i+1]) of these lanes. a·c - b·s is a·c + b·(-s) to the bit.
template <typename T, typename Lanes>
inline void turned_neighbours(const T* x, T* to, const float* cosine, const float* sine, __m512 signs, Lanes lanes) {
  const __m512 both = loaded(x, lanes), swapped = _mm512_permute_ps(both, 0xb1);
  const __m512 c = both_of(cosine, lanes), s = _mm512_mul_ps(both_of(sine, lanes), signs);
  store(to, _mm512_add_ps(_mm512_mul_ps(both, c), _mm512_mul_ps(swapped, s)), lanes);
}

// Pairs (x[2i], x[2i+1]), eight at a time; how many were turned: all.
template <typename T>
inline int64_t turned_adjacent(const T* x, T* to, const float* cosine, const float* sine, float sign, int64_t pairs) {
  const __m512 up = _mm512_set1_ps(sign), signs = _mm512_mask_sub_ps(up, 0x5555, _mm512_setzero_ps(), up);
  int64_t i = 0;
  for (; i + 8 <= pairs; i += 8) turned_neighbours(x + 2 * i, to + 2 * i, cosine + i, sine + i, signs, All{});
  if (i < pairs)
    turned_neighbours(x + 2 * i, to + 2 * i, cosine + i, sine + i, signs, first_lanes(2 * (pairs - i)));
  return pairs;
}

}  // namespace
