// The operator that takes rows of a weight by token ids, times a scale, plus rows of positions, rounded once.
#include <torch/csrc/stable/library.h>

#include "memory.h"
#include "tensors.h"

namespace {

using namespace posenc;
using Scalar = torch::headeronly::ScalarType;

void check(const Tensor& ids, const Tensor& weight, const Tensor& table) {
  STD_TORCH_CHECK(weight.dim() == 2 && weight.is_cpu() && weight.stride(1) == 1,
                  "weight must be (vocabulary, width) on the CPU, its rows contiguous");
  STD_TORCH_CHECK(ids.dim() == 2 && ids.is_cpu() && ids.scalar_type() == Scalar::Long,
                  "ids must be int64 (batch, time) on the CPU");
  STD_TORCH_CHECK(table.dim() == 3 && table.is_cpu() && table.scalar_type() == Scalar::Float && table.stride(2) == 1 &&
                      (table.size(0) == 1 || table.size(0) == ids.size(0)) && table.size(1) == ids.size(1) &&
                      table.size(2) == weight.size(1),
                  "table must be float32 (batch or 1, time, width) on the CPU, its rows contiguous");
  const auto* numbers = static_cast<const int64_t*>(ids.data_ptr());
  for (int64_t row = 0; row < ids.size(0); ++row)
    for (int64_t token = 0; token < ids.size(1); ++token) {
      const int64_t id = numbers[row * ids.stride(0) + token * ids.stride(1)];
      STD_TORCH_CHECK(id >= 0 && id < weight.size(0), "ids must be rows of the weight");
    }
}

// Tokens of one piece of work: their rows of positions stay in the cache for all rows of the batch, which write some
// tokens each.
constexpr int64_t kPiece = 16;
constexpr int64_t kRowsAhead =
    2;  // how many rows before its use a row of the weight is prefetched, which may lie anywhere

Tensor scaled_embedding(const Tensor& ids, const Tensor& weight, const Tensor& table, double scale, std::string name) {
  const DType dtype = dtype_of(weight);
  const InstructionSet& set = instruction_set(name);
  check(ids, weight, table);
  const int64_t batch = ids.size(0), time = ids.size(1), width = weight.size(1), element = size_of(dtype);
  const int64_t shape[] = {batch, time, width};
  Tensor out = torch::stable::new_empty(weight, shape, weight.scalar_type());
  if (batch == 0 || time == 0 || width == 0) return out;
  const auto* numbers = static_cast<const int64_t*>(ids.data_ptr());
  const auto* rows = static_cast<const char*>(weight.data_ptr());
  const auto* positions = static_cast<const float*>(table.data_ptr());
  auto* to = static_cast<char*>(out.data_ptr());
  const int64_t id_row = ids.stride(0), id_token = ids.stride(1), weight_row = element * weight.stride(0);
  const int64_t table_batch = table.size(0) == 1 ? 0 : table.stride(0), table_row = table.stride(1);
  const bool fills_lines = (reinterpret_cast<intptr_t>(to) | width * element) % kLine == 0;
  const bool streamed = fills_lines && batch * time * width * element >= kCached;
  const int64_t pieces = (time + kPiece - 1) / kPiece,
                grain = std::max<int64_t>(1, kSmallest / (batch * width * kPiece));
  torch::stable::parallel_for(0, pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * kPiece, tokens = std::min(kPiece, time - first), items = batch * tokens;
      auto row_of = [&](int64_t item) {
        return rows + weight_row * numbers[item / tokens * id_row + (first + item % tokens) * id_token];
      };
      for (int64_t item = 0; item < items; ++item) {
        const int64_t row = item / tokens, token = first + item % tokens;
        set.scaled_sum(row_of(item), positions + row * table_batch + token * table_row,
                       to + element * width * (row * time + token), static_cast<float>(scale), width, dtype, streamed,
                       row_of(std::min(item + kRowsAhead, items - 1)));
      }
    }
    if (streamed) finish_streams();
  });
  return out;
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def(
      "scaled_embedding(Tensor ids, Tensor weight, Tensor table, float scale, str instruction_set='') -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) { library.impl("scaled_embedding", TORCH_BOX(&scaled_embedding)); }
