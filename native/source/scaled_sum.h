// x · scale + y, rounded once: for embeddings.
#pragma once
#include "instruction_set.h"
#include "memory.h"
#include "vectors.h"

namespace {

template <bool streamed, int N, typename T>
inline void sum_group(const T* x, const float* y, T* out, float scale) {
  store<streamed, N>(out, load<N>(x) * scale + read<Floats<N>>(y));
}

template <bool streamed, int N>
inline void sum_group(const BFloat16* x, const float* y, BFloat16* out, float scale) {
  const auto words = read<Words<N>>(x);
  const auto low = read<Floats<N>>(y), high = read<Floats<N>>(y + N);
  const auto evens = even<N>(words) * scale + shuffle<kEvery<N, 0>>(low, high);
  const auto odds = odd<N>(words) * scale + shuffle<kEvery<N, 1>>(low, high);
  write<streamed>(out, round_to_bfloat16<N>(short_nan<N>(evens), short_nan<N>(odds)));
}

template <bool streamed, typename T>
inline void scaled_sum(const T* x, const float* y, T* out, float scale, int64_t count, const T* next) {
  constexpr int64_t group = std::is_same_v<T, BFloat16> ? 2 * kLanes : kLanes;
  int64_t i = 0;
  for (; i + group <= count; i += group) {
    prefetch(next, sizeof(T) * i);
    sum_group<streamed, kLanes>(x + i, y + i, out + i, scale);
  }
  for (; i < count; ++i) narrow(widen(x[i]) * scale + y[i], out + i);
}

template <typename T>
inline void scaled_sum(const void* x, const float* y, void* out, float scale, int64_t count, bool streamed,
                       const void* next) {
  const auto sum = streamed ? scaled_sum<true, T> : scaled_sum<false, T>;
  sum(static_cast<const T*>(x), y, static_cast<T*>(out), scale, count, static_cast<const T*>(next));
}

inline void scaled_sum(const void* x, const float* y, void* out, float scale, int64_t count, posenc::DType dtype,
                       bool streamed, const void* next) {
  using posenc::DType;
  switch (dtype) {
    case DType::float32: return scaled_sum<float>(x, y, out, scale, count, streamed, next);
    case DType::bfloat16: return scaled_sum<BFloat16>(x, y, out, scale, count, streamed, next);
    case DType::float16: return scaled_sum<Float16>(x, y, out, scale, count, streamed, next);
  }
}

}  // namespace
