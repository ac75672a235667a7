#include "rows.h"

namespace posenc {

void avx512_rows(const Heads& x, const Turn& turn, Kind kind, int64_t batch, int64_t first, int64_t last) {
  rows_of_kind(x, turn, kind, batch, first, last);
}

}  // namespace posenc
