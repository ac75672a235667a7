// One number of each dtype, widened to float32 and rounded back. Everything in the headers that are compiled once for
// each instruction set has internal linkage: the linker must not take code of one set for that of another.
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
using Half = __fp16;  // GCC 12 has _Float16 in C++ on x86 alone
#else
using Half = _Float16;
#endif

template <typename To, typename From>
inline To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

inline float widen(float value) { return value; }
inline float widen(BFloat16 value) { return bits_of<float>(static_cast<uint32_t>(value.bits) << 16); }
inline float widen(Float16 value) { return static_cast<float>(bits_of<Half>(value.bits)); }

inline void narrow(float value, float* to) { *to = value; }

// To nearest, ties to even; a NaN stays one.
inline void narrow(float value, BFloat16* to) {
  const uint32_t bits = bits_of<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to->bits = static_cast<uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16);
}

inline void narrow(float value, Float16* to) { to->bits = bits_of<uint16_t>(static_cast<Half>(value)); }

}  // namespace
