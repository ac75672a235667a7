// The operators posenc::turn_ and posenc::turn_into, through the stable ABI of LibTorch.
//
// Tensors are checked here once more, so that no call from anywhere reads or writes memory that is not theirs.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <string>

#include "rotate.h"

namespace {

using posenc::Heads;
using posenc::Kind;
using posenc::Turn;
using torch::stable::Tensor;
using Scalar = torch::headeronly::ScalarType;

constexpr int64_t kTokens = 64;            // of one piece of work: their table stays in the cache for all heads
constexpr int64_t kSmallest = 1 << 16;     // channels below which a second thread costs more than it gives

Kind kind_of(const Tensor& x) {
  switch (x.scalar_type()) {
    case Scalar::Float: return Kind::float32;
    case Scalar::BFloat16: return Kind::bfloat16;
    case Scalar::Half: return Kind::float16;
    default: STD_TORCH_CHECK(false, "x must hold float32, bfloat16 or float16");
  }
}

Turn turn_of(const Tensor& x, const Tensor& cosine, const Tensor& sine, int64_t start, int64_t blocks, bool adjacent,
             bool inverse) {
  STD_TORCH_CHECK(x.dim() == 4 && x.is_cpu() && x.stride(3) == 1, "x must be (batch, heads, time, channels) on the CPU, its channels side by side");
  for (const Tensor* table : {&cosine, &sine}) {
    STD_TORCH_CHECK(table->is_cpu() && table->scalar_type() == Scalar::Float && table->dim() == 4 && table->stride(3) == 1,
                    "cosine and sine must be float32 with four axes on the CPU, their pairs side by side");
    for (int64_t axis = 0; axis < 4; ++axis) {
      STD_TORCH_CHECK(table->size(axis) == cosine.size(axis) && table->stride(axis) == cosine.stride(axis), "cosine and sine must be alike");
      STD_TORCH_CHECK(axis == 3 || table->size(axis) == 1 || table->size(axis) == x.size(axis), "cosine must fit x");
    }
  }
  const int64_t pairs = cosine.size(3);
  STD_TORCH_CHECK(cosine.size(2) == x.size(2), "cosine must have a row for each token of x");
  STD_TORCH_CHECK(pairs >= 1 && blocks >= 1 && pairs % blocks == 0 && start >= 0 && start <= x.size(3) && 2 * pairs <= x.size(3) - start,
                  "pairs must lie within the channels of x");
  auto stride = [&](int64_t axis) { return cosine.size(axis) == 1 ? 0 : cosine.stride(axis); };
  return {static_cast<const float*>(cosine.data_ptr()), static_cast<const float*>(sine.data_ptr()), stride(0), stride(1),
          cosine.stride(2), x.size(3), start, blocks, pairs / blocks, adjacent, inverse};
}

Heads heads_of(const Tensor& from, const Tensor& to) {
  return {from.data_ptr(), to.data_ptr(), from.size(1), from.stride(0), from.stride(1), from.stride(2),
          to.stride(0),    to.stride(1),  to.stride(2)};
}

void check_alike(const Tensor& x, const Tensor& out) {
  STD_TORCH_CHECK(out.dim() == 4 && out.is_cpu() && out.stride(3) == 1 && out.scalar_type() == x.scalar_type(), "out must be like x");
  for (int64_t axis = 0; axis < 4; ++axis) STD_TORCH_CHECK(out.size(axis) == x.size(axis), "out must have the shape of x");
}

void turn_into(const Tensor& q, const Tensor& to_q, const Tensor* k, const Tensor* to_k, const Tensor& cosine,
               const Tensor& sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  const Turn of_q = turn_of(q, cosine, sine, start, blocks, adjacent, inverse);
  check_alike(q, to_q);
  const Kind kind = kind_of(q);
  const Heads queries = heads_of(q, to_q);
  Turn of_k = of_q;
  Heads keys{};
  if (k) {
    of_k = turn_of(*k, cosine, sine, start, blocks, adjacent, inverse);
    check_alike(*k, *to_k);
    STD_TORCH_CHECK(kind_of(*k) == kind && k->size(0) == q.size(0) && k->size(3) == q.size(3), "k must have the dtype, batch and channels of q");
    keys = heads_of(*k, *to_k);
  }
  const int64_t batch = q.size(0), time = q.size(2), pieces = (time + kTokens - 1) / kTokens;
  const int64_t heads = queries.heads + keys.heads;
  if (batch == 0 || time == 0 || heads == 0) return;
  const int64_t of_piece = std::max<int64_t>(1, std::min(time, kTokens) * heads * q.size(3));
  const auto rows = posenc::best_level().rows;
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = piece % pieces * kTokens, last = std::min(time, first + kTokens);
      rows(queries, of_q, kind, row, first, last);
      if (k) rows(keys, of_k, kind, row, first, last);
    }
  });
}

void turn_pair_(Tensor q, Tensor k, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  turn_into(q, q, &k, &k, cosine, sine, start, blocks, adjacent, inverse);
}

void turn_one_(Tensor x, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  turn_into(x, x, nullptr, nullptr, cosine, sine, start, blocks, adjacent, inverse);
}

Tensor turn_one(Tensor x, Tensor cosine, Tensor sine, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  Tensor out = torch::stable::empty_like(x);
  turn_into(x, out, nullptr, nullptr, cosine, sine, start, blocks, adjacent, inverse);
  return out;
}

std::string level() { return posenc::best_level().name; }

}  // namespace

STABLE_TORCH_LIBRARY(posenc, library) {
  library.def("turn_pair_(Tensor(a!) q, Tensor(b!) k, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_one_(Tensor(a!) x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_one(Tensor x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> Tensor");
  library.def("level() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("turn_pair_", TORCH_BOX(&turn_pair_));
  library.impl("turn_one_", TORCH_BOX(&turn_one_));
  library.impl("turn_one", TORCH_BOX(&turn_one));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CompositeExplicitAutograd, library) { library.impl("level", TORCH_BOX(&level)); }
