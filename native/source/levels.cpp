// Which levels the processor has, asked once.
#include "rotate.h"

namespace posenc {

static void add(Levels& all, Level level) { all.list[all.count++] = level; }

static Levels found() {
  Levels all;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    add(all, {avx512_rows, avx512_waves, avx512_steps, avx512_sums, "avx512"});
  if (has_avx2) add(all, {avx2_rows, avx2_waves, avx2_steps, avx2_sums, "avx2"});
#endif
  add(all, {baseline_rows, baseline_waves, baseline_steps, baseline_sums, "baseline"});
  return all;
}

const Levels& levels() {
  static const Levels all = found();
  return all;
}

}  // namespace posenc
