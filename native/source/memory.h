// Lines of the cache: prefetched before they are needed, or passed by.
//
// The processor prefetches by itself, but not from one run of memory to the next, and within a run too late. Lines are
// requested one by one between arithmetic: many requests at once wait for each other.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kLine = 64;  // bytes of a line of the cache

// The line around this byte, which may lie anywhere.
inline void prefetch(const void* base, int64_t byte) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(byte)), 0,
                     2);
}

// Makes what was streamed past the caches visible to other threads before they are told of it.
inline void finish_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// How many elements lie between a row and the row needed soon, where rows are read and where they are written; 0: none
// is.
struct Prefetch {
  int64_t from = 0, to = 0;

  // Requests elements first … first+count-1 of that row. In place one request serves both; lines that are streamed are
  // not read.
  template <bool streamed, typename T>
  void request(const T* x, const T* out, int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; i += kLine / static_cast<int64_t>(sizeof(T))) {
      prefetch(x, static_cast<int64_t>(sizeof(T)) * (from + i));
      if (!streamed && x != out) prefetch(out, static_cast<int64_t>(sizeof(T)) * (to + i));
    }
  }
};

}  // namespace
