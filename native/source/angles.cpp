// Operators that make cosines and sines from whole positions: a table of them, and rotation without a table.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "tensors.h"

namespace {

using namespace posenc;
using Scalar = torch::headeronly::ScalarType;

// places: whole numbers (rows, time, axes); rates: kLimbs rows of limbs and one of axes, (kLimbs + 1, pairs).
Angles angles_of(const Tensor& places, const Tensor& rates, double factor) {
  for (const Tensor* whole : {&places, &rates})
    STD_TORCH_CHECK(whole->is_cpu() && whole->scalar_type() == Scalar::Long && whole->is_contiguous(),
                    "places and rates must be int64 on the CPU, contiguous");
  STD_TORCH_CHECK(places.dim() == 3 && places.size(2) >= 1, "places must be (rows, time, axes)");
  STD_TORCH_CHECK(rates.dim() == 2 && rates.size(0) == kLimbs + 1, "rates must be (", kLimbs + 1, ", pairs)");
  const int64_t axes = places.size(2), pairs = rates.size(1);
  const auto* limbs = static_cast<const uint64_t*>(rates.data_ptr());
  const auto* axis = static_cast<const int64_t*>(rates.data_ptr()) + kLimbs * pairs;
  bool in_limbs = true, in_axes = true, fine = false;
  for (int64_t i = 0; i < kLimbs * pairs; ++i) in_limbs &= limbs[i] >> 32 == 0;
  for (int64_t i = 0; i < pairs; ++i) {
    in_axes &= axis[i] >= 0 && axis[i] < axes;
    const uint64_t top = limbs[i] << 32 | limbs[pairs + i], rest = limbs[2 * pairs + i] | limbs[3 * pairs + i] | limbs[4 * pairs + i];
    fine |= std::min(top, ~top) < (uint64_t{1} << 24) && (top | rest);  // below 2^-40 turns a step, one way or the other
  }
  STD_TORCH_CHECK(in_limbs && in_axes, "rates must hold limbs below 2^32 and, last, axes of places");
  return {limbs, axis, axes, pairs, factor, fine};
}

const int64_t* places_of(const Tensor& places, int64_t row, int64_t first) {
  const int64_t own = places.size(0) == 1 ? 0 : row;
  return static_cast<const int64_t*>(places.data_ptr()) + (own * places.size(1) + first) * places.size(2);
}

std::tuple<Tensor, Tensor> waves_by(const Tensor& places, const Tensor& rates, double factor, const Level& level) {
  const Angles angles = angles_of(places, rates, factor);
  const int64_t rows = places.size(0) * places.size(1), pairs = angles.pairs;
  const int64_t shape[] = {places.size(0), places.size(1), pairs};
  Tensor cosine = torch::stable::new_empty(places, shape, Scalar::Float);
  Tensor sine = torch::stable::new_empty(places, shape, Scalar::Float);
  auto* cosines = static_cast<float*>(cosine.data_ptr());
  auto* sines = static_cast<float*>(sine.data_ptr());
  if (rows == 0 || pairs == 0) return {cosine, sine};
  const int64_t grain = std::max<int64_t>(1, kSmallest / 8 / pairs);  // a wave costs as much as some eight channels
  torch::stable::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    level.waves(angles, places_of(places, 0, begin), end - begin, cosines + begin * pairs, sines + begin * pairs);
  });
  return {cosine, sine};
}

std::tuple<Tensor, Tensor> waves(Tensor places, Tensor rates, double factor) {
  return waves_by(places, rates, factor, best_level());
}

std::tuple<Tensor, Tensor> waves_at(Tensor places, Tensor rates, double factor, std::string level) {
  return waves_by(places, rates, factor, level_named(level));
}

struct Tables {
  std::unique_ptr<float[]> numbers;
  int64_t size;

  explicit Tables(int64_t entries) : numbers(new float[2 * entries]), size(entries) {}
  float* cosine() { return numbers.get(); }
  float* sine() { return numbers.get() + size; }
};

}  // namespace

namespace posenc {

void turn_all(const Heads& queries, const Heads& keys, Kind kind, int64_t batch, int64_t time, int64_t channels,
              const Tensor& places, const Tensor& rates, double factor, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  const Angles angles = angles_of(places, rates, factor);
  STD_TORCH_CHECK(time == places.size(1) && (places.size(0) == 1 || places.size(0) == batch), "places must fit x");
  const int64_t tokens = std::min(time, kTokens), heads = queries.heads + keys.heads;
  if (batch == 0 || time == 0 || heads == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, of_piece = std::max<int64_t>(1, tokens * heads * channels);
  const bool streamed = batch * time * heads * channels * bytes_of(kind) >= kCached;
  const Level& level = best_level();
  // All batch rows of a piece follow each other, and share its table where they share their places.
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    Tables table(tokens * angles.pairs);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item % batch, first = item / batch * kTokens, last = std::min(time, first + kTokens);
      if (item == begin || row == 0 || places.size(0) != 1)
        level.waves(angles, places_of(places, row, first), last - first, table.cosine(), table.sine());
      const Turn turn{table.cosine(), table.sine(), 0, 0, angles.pairs, channels, start, blocks, angles.pairs / blocks,
                      adjacent, inverse, first, streamed};
      level.rows(queries, turn, kind, row, first, last);
      level.rows(keys, turn, kind, row, first, last);
    }
  });
}

}  // namespace posenc

namespace {

void turn_by(const Tensor& q, const Tensor& to_q, const Tensor& k, const Tensor& to_k, const Tensor& places, const Tensor& rates,
             double factor, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  STD_TORCH_CHECK(rates.dim() == 2, "rates must have two axes");
  for (const Tensor* x : {&q, &k}) check_heads(*x, rates.size(1), start, blocks);
  check_together(q, k);
  STD_TORCH_CHECK(k.size(2) == q.size(2), "k must have the time of q");
  check_alike(q, to_q);
  check_alike(k, to_k);
  turn_all(heads_of(q, to_q), heads_of(k, to_k), kind_of(q), q.size(0), q.size(2), q.size(3), places, rates, factor, start, blocks,
           adjacent, inverse);
}

void turn_pair_by_angles_(Tensor q, Tensor k, Tensor places, Tensor rates, double factor, int64_t start, int64_t blocks,
                          bool adjacent, bool inverse) {
  turn_by(q, q, k, k, places, rates, factor, start, blocks, adjacent, inverse);
}

void turn_pair_by_angles_into(Tensor q, Tensor k, Tensor to_q, Tensor to_k, Tensor places, Tensor rates, double factor,
                              int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  turn_by(q, to_q, k, to_k, places, rates, factor, start, blocks, adjacent, inverse);
}

std::tuple<Tensor, Tensor> turn_pair_by_angles(Tensor q, Tensor k, Tensor places, Tensor rates, double factor, int64_t start,
                                               int64_t blocks, bool adjacent, bool inverse) {
  Tensor to_q = torch::stable::empty_like(q), to_k = torch::stable::empty_like(k);
  turn_by(q, to_q, k, to_k, places, rates, factor, start, blocks, adjacent, inverse);
  return {to_q, to_k};
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def("waves(Tensor places, Tensor rates, float factor) -> (Tensor, Tensor)");
  library.def("waves_at(Tensor places, Tensor rates, float factor, str level) -> (Tensor, Tensor)");
  library.def("turn_pair_by_angles(Tensor q, Tensor k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> (Tensor, Tensor)");
  library.def("turn_pair_by_angles_into(Tensor q, Tensor k, Tensor(a!) to_q, Tensor(b!) to_k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_pair_by_angles_(Tensor(a!) q, Tensor(b!) k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("waves", TORCH_BOX(&waves));
  library.impl("waves_at", TORCH_BOX(&waves_at));
  library.impl("turn_pair_by_angles", TORCH_BOX(&turn_pair_by_angles));
  library.impl("turn_pair_by_angles_into", TORCH_BOX(&turn_pair_by_angles_into));
  library.impl("turn_pair_by_angles_", TORCH_BOX(&turn_pair_by_angles_));
}
