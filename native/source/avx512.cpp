#include "rows.h"
#include "sums.h"
#include "waves.h"

namespace posenc {

void avx512_rows(const Heads& x, const Turn& turn, Kind kind, int64_t batch, int64_t first, int64_t last) {
  rows_of_kind(x, turn, kind, batch, first, last);
}

void avx512_waves(const Angles& angles, const int64_t* places, int64_t count, float* cosine, float* sine) {
  waves(angles, places, count, cosine, sine);
}

void avx512_sums(const void* x, const float* y, void* out, float scale, int64_t count, Kind kind, bool streamed) {
  sums_of_kind(x, y, out, scale, count, kind, streamed);
}

}  // namespace posenc
