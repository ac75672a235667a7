// x·scale + y, rounded once: compiled once a level, beside rows.h.
#pragma once
#include "rows.h"

namespace {

// As many numbers as vectors take; how many those were.
template <typename T>
inline int64_t summed(const T* x, const float* y, T* out, float scale, int64_t count) {
  int64_t i = 0;
#if defined(__AVX512F__)
  const __m512 times = _mm512_set1_ps(scale);
  for (; i + 16 <= count; i += 16)
    store(out + i, _mm512_add_ps(_mm512_mul_ps(loaded(x + i, All{}), times), _mm512_loadu_ps(y + i)), All{});
#elif defined(__AVX2__)
  const __m256 times = _mm256_set1_ps(scale);
  auto eight = [&](int64_t at) { return _mm256_add_ps(_mm256_mul_ps(loaded(x + at), times), _mm256_loadu_ps(y + at)); };
  for (; i + 16 <= count; i += 16) store(out + i, eight(i), eight(i + 8));
#endif
  return i;
}

template <typename T>
inline void sums(const void* from, const float* y, void* to, float scale, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const int64_t done = summed(x, y, out, scale, count);
#pragma omp simd
  for (int64_t i = done; i < count; ++i) put(out + i, widened(x[i]) * scale + y[i]);
}

inline void sums_of_kind(const void* x, const float* y, void* out, float scale, int64_t count, Kind kind) {
  switch (kind) {
    case Kind::float32: return sums<float>(x, y, out, scale, count);
    case Kind::bfloat16: return sums<BFloat16>(x, y, out, scale, count);
    case Kind::float16: return sums<Float16>(x, y, out, scale, count);
  }
}

}  // namespace
