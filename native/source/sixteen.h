// Sixteen pairs at a time, of which the cosines fill a line of memory: products, rounded, and one quick test of all.
#pragma once
#include "waves.h"

#if defined(__AVX2__)
namespace {

constexpr int64_t kSixteen = 16;
// Where cosine times sine is this large, as part of the factor's square, neither is below 2^-11, and a margin of 36 · 2^-53 is
// less than so many of the last bits of a double, of which a float32 leaves out 29.
constexpr float kSmallest = 0x1.01p-11f;
constexpr int kNear = 36 << 11;

// What a float32 keeps of eight numbers.
inline __m256 rounded(const Many::Real* x) {
#if defined(__AVX512F__)
  return _mm512_cvtpd_ps((__m512d)x[0]);
#else
  return _mm256_set_m128(_mm256_cvtpd_ps((__m256d)x[1]), _mm256_cvtpd_ps((__m256d)x[0]));
#endif
}

// Of the 29 bits that a float32 leaves out, how far they are above `kNear` below the middle between two: less than twice
// that where they are near it.
inline __m256i above(const Many::Real* x) {
#if defined(__AVX512F__)
  const __m256i low = _mm512_cvtepi64_epi32((__m512i)x[0]);
#else
  const __m256i low = _mm256_castps_si256(_mm256_shuffle_ps((__m256)x[0], (__m256)x[1], 0x88));
#endif
  return _mm256_and_si256(_mm256_add_epi32(low, _mm256_set1_epi32(kNear - (1 << 28))), _mm256_set1_epi32((1 << 29) - 1));
}

struct Sixteen {
  __m256 cosine[2], sine[2];
  __m256i nearest = _mm256_set1_epi32(-1);
  __m256 least = _mm256_set1_ps(__builtin_inff());

  // Products of pairs `i`, … of a row and of a step.
  Sixteen(const Block& row, const Block& step, int64_t i) {
    for (int half = 0; half < 2; ++half) {
      Many::Real cosines[8 / kLanes], sines[8 / kLanes];
      for (int part = 0; part < 8 / kLanes; ++part, i += kLanes) {
        const Pair<Many> pair = product<Many>(read<Many>(row, i), read<Many>(step, i));
        cosines[part] = pair.cosine;
        sines[part] = pair.sine;
      }
      cosine[half] = rounded(cosines);
      sine[half] = rounded(sines);
      nearest = _mm256_min_epu32(nearest, _mm256_min_epu32(above(cosines), above(sines)));
      least = _mm256_min_ps(least, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_mul_ps(cosine[half], sine[half])));
    }
  }

  // Whether none is so near to the middle between two float32, or so small, that a test with the margin itself has to tell.
  bool settled(float smallest) const {
    const __m256i middle = _mm256_cmpgt_epi32(_mm256_set1_epi32(2 * kNear), nearest);
    const __m256 small = _mm256_cmp_ps(least, _mm256_set1_ps(smallest), _CMP_NGE_UQ);
    return _mm256_movemask_ps(_mm256_or_ps(_mm256_castsi256_ps(middle), small)) == 0;
  }
};

template <bool streamed>
inline void put_eight(float* to, __m256 value) {
  if constexpr (streamed)
    _mm256_stream_ps(to, value);
  else
    _mm256_storeu_ps(to, value);
}

// Each line is filled before the next is begun: past the cache those that are not are written in pieces.
template <bool streamed>
inline void put_apart(float* to, const __m256* values) {
  put_eight<streamed>(to, values[0]);
  put_eight<streamed>(to + 8, values[1]);
}

template <bool streamed>
inline void put_by_turns(float* to, const __m256* first, const __m256* second) {
  for (int half = 0; half < 2; ++half, to += 16) {
    const __m256 low = _mm256_unpacklo_ps(first[half], second[half]), high = _mm256_unpackhi_ps(first[half], second[half]);
    put_eight<streamed>(to, _mm256_permute2f128_ps(low, high, 0x20));
    put_eight<streamed>(to + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }
}

}  // namespace
#endif
