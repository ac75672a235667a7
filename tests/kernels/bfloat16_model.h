// VCVTNE2PS2BF16 by its description (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, 2024), one
// number at a time.
#pragma once

constexpr int kRoundedByInstruction = kLanes;

inline uint16_t model_of_instruction(float value) {
  const uint32_t bits = bits_of<uint32_t>(value), exponent = bits & 0x7f800000u, fraction = bits & 0x7fffffu;
  if (exponent == 0) return static_cast<uint16_t>(bits >> 16 & 0x8000u);  // zero, and subnormal numbers as zero
  if (exponent == 0x7f800000u && fraction != 0) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN, quiet
  if (exponent == 0x7f800000u) return static_cast<uint16_t>(bits >> 16);                           // infinity
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline bool has_subnormal(Floats<kLanes> x, Floats<kLanes> y) {
  bool found = false;
  for (int lane = 0; lane < kLanes; ++lane)
    for (const float value : {x[lane], y[lane]})
      found |= (bits_of<uint32_t>(value) & 0x7f800000u) == 0 && (bits_of<uint32_t>(value) & 0x7fffffu) != 0;
  return found;
}

inline Words<kLanes> round_by_instruction(Floats<kLanes> even, Floats<kLanes> odd) {
  Words<kLanes> result;
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = model_of_instruction(odd[lane]) << 16 | model_of_instruction(even[lane]);
  return result;
}
