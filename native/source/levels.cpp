// Which level the processor has, asked once.
#include "rotate.h"

namespace posenc {

static Level found() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma"))
    return {avx2_rows, "avx2"};
#endif
  return {baseline_rows, "baseline"};
}

const Level& best_level() {
  static const Level level = found();
  return level;
}

}  // namespace posenc
