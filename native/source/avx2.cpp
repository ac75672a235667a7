#include "rows.h"
#include "runs.h"
#include "sums.h"

namespace posenc {

void avx2_rows(const Heads& x, const Turn& turn, Kind kind, int64_t batch, int64_t first, int64_t last) {
  rows_of_kind(x, turn, kind, batch, first, last);
}

void avx2_waves(const Angles& angles, const int64_t* places, int64_t count, const Output& out) {
  waves(angles, places, count, out);
}

void avx2_steps(const Angles& angles, Block* steps) {
  steps_of(angles, steps);
}

void avx2_sums(const void* x, const float* y, void* out, float scale, int64_t count, Kind kind, bool streamed,
               const void* next) {
  sums_of_kind(x, y, out, scale, count, kind, streamed, next);
}

}  // namespace posenc
