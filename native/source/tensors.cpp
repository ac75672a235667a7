#include "tensors.h"

#include <torch/headeronly/util/Exception.h>

namespace posenc {

using Scalar = torch::headeronly::ScalarType;

Kind kind_of(const Tensor& x) {
  switch (x.scalar_type()) {
    case Scalar::Float: return Kind::float32;
    case Scalar::BFloat16: return Kind::bfloat16;
    case Scalar::Half: return Kind::float16;
    default: STD_TORCH_CHECK(false, "x must hold float32, bfloat16 or float16");
  }
}

void check_heads(const Tensor& x, int64_t pairs, int64_t start, int64_t blocks) {
  STD_TORCH_CHECK(x.dim() == 4 && x.is_cpu() && x.stride(3) == 1, "x must be (batch, heads, time, channels) on the CPU, its channels side by side");
  STD_TORCH_CHECK(pairs >= 1 && blocks >= 1 && pairs % blocks == 0 && start >= 0 && start <= x.size(3) && pairs <= (x.size(3) - start) / 2,
                  "pairs must lie within the channels of x");
}

Turn turn_of(const Tensor& x, const Tensor& cosine, const Tensor& sine, int64_t start, int64_t blocks, bool adjacent,
             bool inverse) {
  STD_TORCH_CHECK(x.dim() == 4 && cosine.dim() == 4, "x and cosine must have four axes");
  check_heads(x, cosine.size(3), start, blocks);
  for (const Tensor* table : {&cosine, &sine}) {
    STD_TORCH_CHECK(table->is_cpu() && table->scalar_type() == Scalar::Float && table->dim() == 4 && table->stride(3) == 1,
                    "cosine and sine must be float32 with four axes on the CPU, their pairs side by side");
    for (int64_t axis = 0; axis < 4; ++axis) {
      STD_TORCH_CHECK(table->size(axis) == cosine.size(axis) && table->stride(axis) == cosine.stride(axis), "cosine and sine must be alike");
      STD_TORCH_CHECK(axis == 3 || table->size(axis) == 1 || table->size(axis) == x.size(axis), "cosine must fit x");
    }
  }
  STD_TORCH_CHECK(cosine.size(2) == x.size(2), "cosine must have a row for each token of x");
  const int64_t pairs = cosine.size(3);
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

void check_together(const Tensor& q, const Tensor& k) {
  STD_TORCH_CHECK(kind_of(k) == kind_of(q) && k.size(0) == q.size(0) && k.size(3) == q.size(3),
                  "k must have the dtype, batch and channels of q");
}

const Level& level_named(const std::string& name) {
  for (const Level& level : levels())
    if (name == level.name) return level;
  STD_TORCH_CHECK(false, "level must be one that this processor has, one of posenc::levels(); got ", name);
}

}  // namespace posenc
