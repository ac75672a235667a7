// The operators posenc::turn_ and posenc::turn_into, through the stable ABI of LibTorch.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tensors.h"

namespace posenc {

void turn_all(const Heads& queries, Turn of_q, const Heads& keys, Turn of_k, Kind kind, int64_t batch, int64_t time,
              const Level& level) {
  const int64_t pieces = (time + kTokens - 1) / kTokens, heads = queries.heads + keys.heads;
  if (batch == 0 || time == 0 || heads == 0) return;
  const int64_t of_piece = std::max<int64_t>(1, std::min(time, kTokens) * heads * of_q.channels);
  of_q.streamed = of_k.streamed = batch * time * heads * of_q.channels * bytes_of(kind) >= kCached;
  const auto rows = level.rows;
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = piece % pieces * kTokens, last = std::min(time, first + kTokens);
      rows(queries, of_q, kind, row, first, last);
      if (keys.heads) rows(keys, of_k, kind, row, first, last);
    }
  });
}

}  // namespace posenc

namespace {

using namespace posenc;

void turn_into(const Tensor& q, const Tensor& to_q, const Tensor* k, const Tensor* to_k, const Tensor& cosine,
               const Tensor& sine, int64_t start, int64_t blocks, bool adjacent, bool inverse,
               const Level& level = best_level()) {
  const Turn of_q = turn_of(q, cosine, sine, start, blocks, adjacent, inverse);
  check_alike(q, to_q);
  const Kind kind = kind_of(q);
  const Heads queries = heads_of(q, to_q);
  Turn of_k = of_q;
  Heads keys{};
  if (k) {
    of_k = turn_of(*k, cosine, sine, start, blocks, adjacent, inverse);
    check_alike(*k, *to_k);
    check_together(q, *k);
    keys = heads_of(*k, *to_k);
  }
  turn_all(queries, of_q, keys, of_k, kind, q.size(0), q.size(2), level);
}

void turn_pair_(Tensor q, Tensor k, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  turn_into(q, q, &k, &k, cosine, sine, start, blocks, adjacent, inverse);
}

void turn_pair_into(Tensor q, Tensor k, Tensor to_q, Tensor to_k, Tensor cosine, Tensor sine, int64_t start, int64_t blocks,
                    bool adjacent, bool inverse) {
  turn_into(q, to_q, &k, &to_k, cosine, sine, start, blocks, adjacent, inverse);
}

void turn_one_(Tensor x, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  turn_into(x, x, nullptr, nullptr, cosine, sine, start, blocks, adjacent, inverse);
}

Tensor turn_one(Tensor x, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  Tensor out = torch::stable::empty_like(x);
  turn_into(x, out, nullptr, nullptr, cosine, sine, start, blocks, adjacent, inverse);
  return out;
}

// For tests: by a level that is named.
Tensor turn_one_at(Tensor x, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse,
                   std::string name) {
  Tensor out = torch::stable::empty_like(x);
  turn_into(x, out, nullptr, nullptr, cosine, sine, start, blocks, adjacent, inverse, level_named(name));
  return out;
}

std::vector<std::string> levels() {
  std::vector<std::string> names;
  for (const Level& level : posenc::levels()) names.push_back(level.name);
  return names;
}

}  // namespace

STABLE_TORCH_LIBRARY(posenc, library) {
  library.def("turn_pair_(Tensor(a!) q, Tensor(b!) k, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_pair_into(Tensor q, Tensor k, Tensor(a!) to_q, Tensor(b!) to_k, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_one_(Tensor(a!) x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_one(Tensor x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> Tensor");
  library.def("turn_one_at(Tensor x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse, str level) -> Tensor");
  library.def("levels() -> str[]");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("turn_pair_", TORCH_BOX(&turn_pair_));
  library.impl("turn_pair_into", TORCH_BOX(&turn_pair_into));
  library.impl("turn_one_", TORCH_BOX(&turn_one_));
  library.impl("turn_one", TORCH_BOX(&turn_one));
  library.impl("turn_one_at", TORCH_BOX(&turn_one_at));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CompositeExplicitAutograd, library) { library.impl("levels", TORCH_BOX(&::levels)); }
