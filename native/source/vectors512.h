// Sixteen numbers at a time, with the instructions of AVX-512 (F, BW, VL, DQ): loaded, rounded, stored; the last ones under a
// mask. Included where these exist.
#pragma once
#include <immintrin.h>

#include "kinds.h"

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

// `streamed`: past the caches, to an aligned place, all lanes of it.
template <bool streamed>
inline void store(float* x, __m512 value, All) {
  streamed ? _mm512_stream_ps(x, value) : _mm512_storeu_ps(x, value);
}
template <bool streamed>
inline void store(float* x, __m512 value, Some some) {
  _mm512_mask_storeu_ps(x, some.lanes, value);
}

template <bool streamed>
inline void store_halves(void* x, __m256i value, All) {
  auto* place = static_cast<__m256i*>(x);
  streamed ? _mm256_stream_si256(place, value) : _mm256_storeu_si256(place, value);
}
template <bool streamed>
inline void store_halves(void* x, __m256i value, Some some) {
  _mm256_mask_storeu_epi16(x, some.lanes, value);
}

template <bool streamed, typename Lanes>
inline void store(Float16* x, __m512 value, Lanes lanes) {
  store_halves<streamed>(x, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT), lanes);
}

// The upper half of each number, rounded to the nearest, ties to even; that of a NaN as it is, made quiet.
template <bool streamed, typename Lanes>
inline void store(BFloat16* x, __m512 value, Lanes lanes) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 none = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i kept = _mm512_mask_or_epi32(rounded, none, bits, _mm512_set1_epi32(0x400000));
  store_halves<streamed>(x, _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16)), lanes);
}

}  // namespace
