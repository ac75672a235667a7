// Memory that is wanted soon, asked for ahead of its time. A processor fetches ahead by itself, but not from one run of memory to
// the next, and within a run too late. Lines are asked for one by one between what is computed: many at once wait for each other.
#pragma once
#include <cstdint>

namespace {

// The line of the cache around this byte, which need not be anyone's.
inline void awaited(const void* place, int64_t byte) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(place) + static_cast<uintptr_t>(byte)), 0, 2);
}

// How many numbers further on the row lies that is wanted soon, where it is read and where it is written; 0: none is.
struct Ahead {
  int64_t from = 0, to = 0;

  // What is written past the caches is not read before.
  template <bool streamed, typename T>
  void ask(const T* x, const T* out, int64_t number) const {
    awaited(x, static_cast<int64_t>(sizeof(T)) * (from + number));
    if (!streamed) awaited(out, static_cast<int64_t>(sizeof(T)) * (to + number));
  }
};

}  // namespace
