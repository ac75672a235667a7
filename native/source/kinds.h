// Numbers of each kind as float32, and back. Internal linkage: code of one level must not be linked into another.
#pragma once
#include <cstdint>
#include <cstring>

namespace {

struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has _Float16 in C++ for Intel alone
#else
using Half = _Float16;
#endif

inline float widened(float value) { return value; }

inline float widened(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, 4);
  return wide;
}

inline float widened(Float16 value) {
  Half half;
  std::memcpy(&half, &value.bits, 2);
  return static_cast<float>(half);
}

inline void put(float* place, float value) { *place = value; }

// To the nearest, ties to even; a NaN stays one.
inline void put(BFloat16* place, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  place->bits = static_cast<uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16);
}

inline void put(Float16* place, float value) {
  const Half half = static_cast<Half>(value);
  std::memcpy(&place->bits, &half, 2);
}

}  // namespace
