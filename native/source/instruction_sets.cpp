#include "instruction_sets.h"

#include <torch/headeronly/util/Exception.h>

namespace posenc {

static std::vector<const InstructionSet*> find() {
  std::vector<const InstructionSet*> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (has_avx512 && __builtin_cpu_supports("avx512bf16")) found.push_back(&avx512bf16);
  if (has_avx512) found.push_back(&avx512);
  if (has_avx2) found.push_back(&avx2);
#endif
  found.push_back(&baseline);
  return found;
}

const std::vector<const InstructionSet*>& instruction_sets() {
  static const auto sets = find();
  return sets;
}

const InstructionSet& instruction_set(const std::string& name) {
  for (const InstructionSet* set : instruction_sets())
    if (name.empty() || name == set->name) return *set;
  STD_TORCH_CHECK(false, "instruction_set must be one of posenc::instruction_sets(), which this processor has; got ",
                  name);
}

}  // namespace posenc
