// Sixteen pairs, or eight beside each other, at a time with AVX-512; the last ones under a mask.
#pragma once
#include "ahead.h"
#include "vectors512.h"

namespace {

// Pairs (x[i], x[i + pairs]) of these lanes.
template <bool streamed, typename T, typename Lanes>
inline void turned_lanes(const T* x, T* to, const float* cosine, const float* sine, int64_t pairs, Lanes lanes) {
  const __m512 a = loaded(x, lanes), b = loaded(x + pairs, lanes), c = loaded(cosine, lanes), s = loaded(sine, lanes);
  store<streamed>(to, _mm512_sub_ps(_mm512_mul_ps(a, c), _mm512_mul_ps(b, s)), lanes);
  store<streamed>(to + pairs, _mm512_add_ps(_mm512_mul_ps(a, s), _mm512_mul_ps(b, c)), lanes);
}

inline __m512 both_of(__m256 waves) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(waves));
}

inline __m512 both_of(const float* waves, All) { return both_of(_mm256_loadu_ps(waves)); }

inline __m512 both_of(const float* waves, Some some) { return both_of(_mm256_maskz_loadu_ps(some.of_pairs, waves)); }

// Pairs (x[2i], x[2i+1]) of these lanes.
template <bool streamed, typename T, typename Lanes>
inline void turned_neighbours(const T* x, T* to, const float* cosine, const float* sine, Lanes lanes) {
  const __m512 both = loaded(x, lanes), swapped = _mm512_permute_ps(both, 0xb1);
  const __m512 straight = _mm512_mul_ps(both, both_of(cosine, lanes)), crossed = _mm512_mul_ps(swapped, both_of(sine, lanes));
  store<streamed>(to, _mm512_mask_sub_ps(_mm512_add_ps(straight, crossed), 0x5555, straight, crossed), lanes);
}

// All pairs are in groups, the last ones under a mask.
template <typename T, bool adjacent>
inline int64_t grouped(int64_t pairs) {
  return pairs;
}

// Cosines of all pairs, then their sines.
template <typename T, bool adjacent>
inline void prepared_groups(const float* cosine, const float* sine, float sign, int64_t pairs, float* waves) {
  for (int64_t i = 0; i < pairs; ++i) waves[i] = cosine[i];
  for (int64_t i = 0; i < pairs; ++i) waves[pairs + i] = sign * sine[i];
}

// One row, pairs (x[i], x[i + pairs]) or (x[2i], x[2i + 1]).
template <bool adjacent, bool streamed, typename T>
inline void turned_groups(const T* x, T* to, const float* waves, int64_t pairs, Ahead ahead) {
  const float *cosine = waves, *sine = waves + pairs;
  constexpr int64_t together = adjacent ? 8 : 16;
  int64_t i = 0;
  auto turn = [&](auto lanes) {
    if constexpr (adjacent)
      turned_neighbours<streamed>(x + 2 * i, to + 2 * i, cosine + i, sine + i, lanes);
    else
      turned_lanes<streamed>(x + i, to + i, cosine + i, sine + i, pairs, lanes);
  };
  for (; i + together <= pairs; i += together) {
    ahead.ask<streamed>(x, to, 2 * i);
    turn(All{});
  }
  if (i < pairs) turn(first_lanes(adjacent ? 2 * (pairs - i) : pairs - i));
}

}  // namespace
