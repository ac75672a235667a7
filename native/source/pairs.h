// Pairs turned eight at a time with AVX2, by cosines and sines that were put into the order in which they are wanted.
#pragma once
#include <type_traits>

#include "ahead.h"
#include "vectors.h"

namespace {

// How many pairs are taken together: as many as fill a vector of either of their channels.
template <typename T, bool adjacent>
constexpr int64_t kTogether = !adjacent && std::is_same_v<T, BFloat16> ? 16 : 8;

// How many of so many pairs are in whole groups.
template <typename T, bool adjacent>
inline int64_t grouped(int64_t pairs) {
  return pairs - pairs % kTogether<T, adjacent>;
}

// Cosines and sines of whole groups as the loops below read them: eight cosines, eight sines, eight cosines, …
// In bfloat16 a NaN of the table must have no lower half: no other NaN meets `rounded` then, as those of x are widened
// from 16 bits, and those that the processor makes, of infinities, have none.
template <typename T, bool adjacent>
inline void prepared_groups(const float* cosine, const float* sine, float sign, int64_t pairs, float* waves) {
  constexpr bool is_short = std::is_same_v<T, BFloat16>;
  auto eight = [](const float* from, float factor) {
    const __m256 found = _mm256_mul_ps(_mm256_loadu_ps(from), _mm256_set1_ps(factor));
    return is_short ? short_nan(found) : found;
  };
  auto put_in_order = [&](const float* from, float factor, float* to) {
    if constexpr (is_short && !adjacent) {  // those of even places, and those of odd ones
      const __m256 low = eight(from, factor), high = eight(from + 8, factor);
      _mm256_storeu_ps(to, crossed(_mm256_shuffle_ps(low, high, 0x88)));
      _mm256_storeu_ps(to + 16, crossed(_mm256_shuffle_ps(low, high, 0xdd)));
    } else {  // beside each other, as a shuffle of two vectors takes neighbours apart
      _mm256_storeu_ps(to, adjacent && !is_short ? crossed(eight(from, factor)) : eight(from, factor));
    }
  };
  for (int64_t i = 0; i < grouped<T, adjacent>(pairs); i += kTogether<T, adjacent>, waves += 2 * kTogether<T, adjacent>) {
    put_in_order(cosine + i, 1.0f, waves);
    put_in_order(sine + i, sign, waves + 8);
  }
}

struct Eight {
  __m256 first, second;
};

inline Eight turned_eight(__m256 a, __m256 b, const float* waves) {
  const __m256 c = _mm256_loadu_ps(waves), s = _mm256_loadu_ps(waves + 8);
  return {_mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)), _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c))};
}

// The whole groups of one row, pairs (x[i], x[i + pairs]) or (x[2i], x[2i + 1]).
template <bool adjacent, bool streamed, typename T>
inline void turned_groups(const T* x, T* to, const float* waves, int64_t pairs, Ahead ahead) {
  for (int64_t i = 0; i < grouped<T, adjacent>(pairs); i += 8, waves += 16) {
    ahead.ask<streamed>(x, to, 2 * i);
    if constexpr (adjacent) {
      const __m256 low = loaded(x + 2 * i), high = loaded(x + 2 * i + 8);
      const Eight found = turned_eight(_mm256_shuffle_ps(low, high, 0x88), _mm256_shuffle_ps(low, high, 0xdd), waves);
      store<streamed>(to + 2 * i, _mm256_unpacklo_ps(found.first, found.second));
      store<streamed>(to + 2 * i + 8, _mm256_unpackhi_ps(found.first, found.second));
    } else {
      const Eight found = turned_eight(loaded(x + i), loaded(x + pairs + i), waves);
      store<streamed>(to + i, found.first);
      store<streamed>(to + pairs + i, found.second);
    }
  }
}

template <bool adjacent, bool streamed>
inline void turned_groups(const BFloat16* x, BFloat16* to, const float* waves, int64_t pairs, Ahead ahead) {
  if constexpr (adjacent) {
    for (int64_t i = 0; i < grouped<BFloat16, adjacent>(pairs); i += 8, waves += 16) {
      ahead.ask<streamed>(x, to, 2 * i);
      const __m256i both = sixteen(x + 2 * i);
      const Eight found = turned_eight(even(both), odd(both), waves);
      store<streamed>(to + 2 * i, rounded(found.first, found.second));
    }
  } else {
    for (int64_t i = 0; i < grouped<BFloat16, adjacent>(pairs); i += 16, waves += 32) {
      ahead.ask<streamed>(x, to, 2 * i);
      const __m256i a = sixteen(x + i), b = sixteen(x + pairs + i);
      const Eight evens = turned_eight(even(a), even(b), waves), odds = turned_eight(odd(a), odd(b), waves + 16);
      store<streamed>(to + i, rounded(evens.first, odds.first));
      store<streamed>(to + pairs + i, rounded(evens.second, odds.second));
    }
  }
}

}  // namespace
