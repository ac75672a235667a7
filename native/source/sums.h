// x·scale + y, rounded once: compiled once a level, beside rows.h.
#pragma once
#include "rows.h"

namespace {

// As many numbers as vectors take; how many those were.
#if defined(__AVX512F__)
template <bool streamed, typename T>
inline int64_t summed(const T* x, const float* y, T* out, float scale, int64_t count, const void* next) {
  const __m512 times = _mm512_set1_ps(scale);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    awaited(next, sizeof(T) * i);
    store<streamed>(out + i, _mm512_add_ps(_mm512_mul_ps(loaded(x + i, All{}), times), _mm512_loadu_ps(y + i)), All{});
  }
  return i;
}
#elif defined(__AVX2__)
template <bool streamed, typename T>
inline int64_t summed(const T* x, const float* y, T* out, float scale, int64_t count, const void* next) {
  const __m256 times = _mm256_set1_ps(scale);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    awaited(next, sizeof(T) * i);
    store<streamed>(out + i, _mm256_add_ps(_mm256_mul_ps(loaded(x + i), times), loaded(y + i)));
  }
  return i;
}

template <bool streamed>
inline int64_t summed(const BFloat16* x, const float* y, BFloat16* out, float scale, int64_t count, const void* next) {
  const __m256 times = _mm256_set1_ps(scale);
  // Four numbers, and the four that are eight further on: so a shuffle takes those of even and of odd places apart in order.
  auto fours = [&](int64_t at) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(y + at)), _mm_loadu_ps(y + at + 8), 1);
  };
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    awaited(next, sizeof(BFloat16) * i);
    const __m256i from = sixteen(x + i);
    const __m256 first = fours(i), second = fours(i + 4);
    __m256 evens = _mm256_add_ps(_mm256_mul_ps(even(from), times), _mm256_shuffle_ps(first, second, 0x88));
    __m256 odds = _mm256_add_ps(_mm256_mul_ps(odd(from), times), _mm256_shuffle_ps(first, second, 0xdd));
    if (_mm256_movemask_ps(_mm256_cmp_ps(evens, odds, _CMP_UNORD_Q))) [[unlikely]] {
      evens = short_nan(evens);
      odds = short_nan(odds);
    }
    store<streamed>(out + i, rounded(evens, odds));
  }
  return i;
}
#else
template <bool streamed, typename T>
inline int64_t summed(const T*, const float*, T*, float, int64_t, const void*) {
  return 0;
}
#endif

template <typename T>
inline void sums(const void* from, const float* y, void* to, float scale, int64_t count, bool streamed, const void* next) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const int64_t done = streamed ? summed<true>(x, y, out, scale, count, next) : summed<false>(x, y, out, scale, count, next);
#pragma omp simd
  for (int64_t i = done; i < count; ++i) put(out + i, widened(x[i]) * scale + y[i]);
}

inline void sums_of_kind(const void* x, const float* y, void* out, float scale, int64_t count, Kind kind, bool streamed,
                         const void* next) {
  switch (kind) {
    case Kind::float32: return sums<float>(x, y, out, scale, count, streamed, next);
    case Kind::bfloat16: return sums<BFloat16>(x, y, out, scale, count, streamed, next);
    case Kind::float16: return sums<Float16>(x, y, out, scale, count, streamed, next);
  }
}

}  // namespace
