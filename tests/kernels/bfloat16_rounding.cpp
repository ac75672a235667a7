// Compiled by test_bfloat16_rounding.py: rounding to bfloat16 by the instruction, or by a model of it, against rounding
// in integers; and on a processor that has the instruction, the model against it. The exit status is 0 where all agree.
#include <cstdio>
#include <initializer_list>

#include "vectors.h"
#if !defined(BFLOAT16_MODEL)
namespace {
#define kRoundedByInstruction kModelLanes
#define has_subnormal has_subnormal_in_model
#define round_by_instruction round_by_model
#include "bfloat16_model.h"
#undef kRoundedByInstruction
#undef has_subnormal
#undef round_by_instruction
}  // namespace
#endif

namespace {

constexpr uint32_t kLower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

struct Count {
  long wrong = 0, flushed = 0, differs = 0;
};

// One vector pair: upper halves from `upper` on, one lower half, NaN without one.
void check(uint32_t upper, uint32_t lower, Count& count) {
  Floats<kLanes> even, odd;
  for (int lane = 0; lane < kLanes; ++lane)
    for (const int is_odd : {0, 1}) {
      const uint32_t high = (upper + 2 * lane + is_odd) & 0xffffu;
      const bool is_nan = (high & 0x7f80u) == 0x7f80u && ((high & 0x7fu) != 0 || lower != 0);
      const float value = bits_of<float>(high << 16 | (is_nan ? 0 : lower));
      (is_odd ? odd : even)[lane] = value;
    }
  const auto rounded = round_to_bfloat16<kLanes>(even, odd), instruction = round_by_instruction(even, odd);
  for (int lane = 0; lane < kLanes; ++lane)
    for (const int is_odd : {0, 1}) {
      const float value = (is_odd ? odd : even)[lane];
      const auto half = [&](auto words) { return static_cast<uint16_t>(words[lane] >> (is_odd ? 16 : 0)); };
      BFloat16 expected;
      narrow(value, &expected);
      count.wrong += half(rounded) != expected.bits;
      count.flushed += half(instruction) != expected.bits;
      count.differs += half(instruction) != model_of_instruction(value);
    }
}

}  // namespace

int main() {
  Count count;
  for (const uint32_t lower : kLower)
    for (uint32_t upper = 0; upper < 1u << 16; upper += kLanes) check(upper, lower, count);
  std::printf("lanes %d: wrong %ld, instruction differs from model %ld, flushes %ld\n", kLanes, count.wrong,
              count.differs, count.flushed);
  return count.wrong != 0 || count.differs != 0 || count.flushed == 0;
}
