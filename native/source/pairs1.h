// No vectors: all pairs are left to the loops of rows.h, one by one.
#pragma once
#include <cstdint>

#include "ahead.h"

namespace {

template <typename T, bool adjacent>
inline int64_t grouped(int64_t) {
  return 0;
}

template <typename T, bool adjacent>
inline void prepared_groups(const float*, const float*, float, int64_t, float*) {}

template <bool adjacent, bool streamed, typename T>
inline void turned_groups(const T*, T*, const float*, int64_t, Ahead) {}

}  // namespace
