// Operators that make cosines and sines from whole positions: a table of them, and rotation without a table.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cmath>
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

// Whether so many places rise one by one that steps are worth making, and that factor neither hides nor breaks a margin.
bool has_runs(const Angles& angles, const int64_t* places, int64_t count) {
  if (count < kLeastRun || !(std::fabs(angles.factor) >= 0x1p-40 && std::fabs(angles.factor) <= 0x1p40)) return false;
  int64_t rising = 1;
  for (const int64_t* here = places + angles.axes; here < places + count * angles.axes && rising < kLeastRun; here += angles.axes) {
    bool all = true;
    for (int64_t axis = 0; axis < angles.axes; ++axis)
      all &= static_cast<uint64_t>(here[axis]) - static_cast<uint64_t>(here[axis - angles.axes]) == 1;
    rising += all;
  }
  return rising >= kLeastRun;
}

// Angles with their steps, where those are worth making.
struct Stepped {
  std::unique_ptr<Block[]> steps;
  Angles angles;

  Stepped(const Tensor& places, const Tensor& rates, double factor, const Level& level) : angles(angles_of(places, rates, factor)) {
    if (!has_runs(angles, static_cast<const int64_t*>(places.data_ptr()), places.size(0) * places.size(1))) return;
    steps.reset(new Block[blocks_of(angles.pairs)]);
    level.steps(angles, steps.get());
    angles.steps = steps.get();
  }
};

const int64_t* places_of(const Tensor& places, int64_t row, int64_t first) {
  const int64_t own = places.size(0) == 1 ? 0 : row;
  return static_cast<const int64_t*>(places.data_ptr()) + (own * places.size(1) + first) * places.size(2);
}

// Every row of places, (rows, time), into its own of `out`.
void fill(const Tensor& places, const Stepped& made, Output out, const Level& level) {
  const Angles& angles = made.angles;
  const int64_t rows = places.size(0) * places.size(1);
  if (rows == 0 || angles.pairs == 0) return;
  const int64_t grain = std::max<int64_t>(1, kSmallest / 8 / angles.pairs);  // a wave costs as much as some eight channels
  torch::stable::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    Output part = out;
    part.cosine += begin * out.stride;
    part.sine += begin * out.stride;
    level.waves(angles, places_of(places, 0, begin), end - begin, part);
  });
}

// Rows that fill lines of memory, of so much of it that none stays in the cache, need not read them before they write.
bool streams(const Output& out, int64_t rows) {
  const int64_t tables = out.order == Order::apart ? 2 : 1, width = out.order == Order::apart ? out.cosines : 2 * out.cosines;
  auto whole = [](const float* row) { return reinterpret_cast<uintptr_t>(row) % 64 == 0; };
  const bool lines = whole(out.order == Order::cosine_first ? out.cosine : out.sine) && (out.order != Order::apart || whole(out.cosine));
  return lines && out.cosines == out.sines && width % 16 == 0 && out.stride % 16 == 0 &&
         4 * tables * width * rows >= kCached;
}

std::tuple<Tensor, Tensor> waves_by(const Tensor& places, const Tensor& rates, double factor, const Level& level) {
  const Stepped made(places, rates, factor, level);
  const int64_t pairs = made.angles.pairs, shape[] = {places.size(0), places.size(1), pairs};
  Tensor cosine = torch::stable::new_empty(places, shape, Scalar::Float);
  Tensor sine = torch::stable::new_empty(places, shape, Scalar::Float);
  Output out{static_cast<float*>(cosine.data_ptr()), static_cast<float*>(sine.data_ptr()), pairs, pairs, pairs, Order::apart, false};
  out.streamed = streams(out, shape[0] * shape[1]);
  fill(places, made, out, level);
  return {cosine, sine};
}

// table: float32 (rows, time, width) on the CPU, for these places; its rows evenly apart, and none in another.
int64_t stride_of(const Tensor& table, const Tensor& places) {
  STD_TORCH_CHECK(table.is_cpu() && table.scalar_type() == Scalar::Float && table.dim() == 3 && table.stride(2) == 1,
                  "a table must be float32 (rows, time, width) on the CPU, its numbers side by side");
  const int64_t rows = table.size(0), time = table.size(1), width = table.size(2);
  STD_TORCH_CHECK(rows == places.size(0) && time == places.size(1), "a table must have a row for each place");
  if (rows * time <= 1) return width;
  const int64_t stride = table.stride(time > 1 ? 1 : 0);
  STD_TORCH_CHECK(stride >= width && (rows == 1 || time == 1 || table.stride(0) == time * stride),
                  "rows of a table must lie evenly apart, and none in another");
  return stride;
}

// cosine and sine: alike, (rows, time, pairs), and no number in both.
void waves_into(Tensor places, Tensor rates, double factor, Tensor cosine, Tensor sine) {
  const Stepped made(places, rates, factor, best_level());
  const int64_t pairs = made.angles.pairs, stride = stride_of(cosine, places), rows = places.size(0) * places.size(1);
  STD_TORCH_CHECK(stride_of(sine, places) == stride && cosine.size(2) == pairs && sine.size(2) == pairs,
                  "cosine and sine must be alike, with a number for each pair");
  Output out{static_cast<float*>(cosine.data_ptr()), static_cast<float*>(sine.data_ptr()), stride, pairs, pairs, Order::apart, false};
  const int64_t bytes = std::abs(reinterpret_cast<intptr_t>(out.cosine) - reinterpret_cast<intptr_t>(out.sine)), apart = bytes / 4;
  const bool beside = bytes % 4 == 0 && apart % stride >= pairs && apart % stride + pairs <= stride;
  STD_TORCH_CHECK(rows * pairs == 0 || apart >= (rows - 1) * stride + pairs || beside, "cosine and sine must share no memory");
  out.streamed = streams(out, rows);
  fill(places, made, out, best_level());
}

// table: (rows, time, width) of cosines and sines, pair by pair or one after the other; the last number may be left out.
void waves_within_by(const Tensor& places, const Tensor& rates, double factor, const Tensor& table, bool by_turns, bool sine_first, const Level& level) {
  const Stepped made(places, rates, factor, level);
  const int64_t pairs = made.angles.pairs, stride = stride_of(table, places), width = table.size(2);
  STD_TORCH_CHECK(width == 2 * pairs || width == 2 * pairs - 1, "a table must have a cosine and a sine for each pair, or one less");
  auto* first = static_cast<float*>(table.data_ptr());
  float* second = first + (by_turns ? 1 : pairs);
  Output out{sine_first ? second : first, sine_first ? first : second, stride, sine_first ? width - pairs : pairs,
             sine_first ? pairs : width - pairs, !by_turns ? Order::apart : sine_first ? Order::sine_first : Order::cosine_first, false};
  out.streamed = streams(out, places.size(0) * places.size(1));
  fill(places, made, out, level);
}

void waves_within(Tensor places, Tensor rates, double factor, Tensor table, bool by_turns, bool sine_first) {
  waves_within_by(places, rates, factor, table, by_turns, sine_first, best_level());
}

// For tests: at a level that is named.
void waves_within_at(Tensor places, Tensor rates, double factor, Tensor table, bool by_turns, bool sine_first, std::string level) {
  waves_within_by(places, rates, factor, table, by_turns, sine_first, level_named(level));
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
  Output output(int64_t pairs) { return {cosine(), sine(), pairs, pairs, pairs, Order::apart, false}; }
};

}  // namespace

namespace posenc {

void turn_all(const Heads& queries, const Heads& keys, Kind kind, int64_t batch, int64_t time, int64_t channels,
              const Tensor& places, const Tensor& rates, double factor, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  const Level& level = best_level();
  const Stepped made(places, rates, factor, level);
  const Angles& angles = made.angles;
  STD_TORCH_CHECK(time == places.size(1) && (places.size(0) == 1 || places.size(0) == batch), "places must fit x");
  const int64_t tokens = std::min(time, kTokens), heads = queries.heads + keys.heads;
  if (batch == 0 || time == 0 || heads == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, of_piece = std::max<int64_t>(1, tokens * heads * channels);
  const bool streamed = batch * time * heads * channels * bytes_of(kind) >= kCached;
  // All batch rows of a piece follow each other, and share its table where they share their places.
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    Tables table(tokens * angles.pairs);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item % batch, first = item / batch * kTokens, last = std::min(time, first + kTokens);
      if (item == begin || row == 0 || places.size(0) != 1)
        level.waves(angles, places_of(places, row, first), last - first, table.output(angles.pairs));
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
  library.def("waves_into(Tensor places, Tensor rates, float factor, Tensor(a!) cosine, Tensor(b!) sine) -> ()");
  library.def("waves_within(Tensor places, Tensor rates, float factor, Tensor(a!) table, bool by_turns, bool sine_first) -> ()");
  library.def("waves_within_at(Tensor places, Tensor rates, float factor, Tensor(a!) table, bool by_turns, bool sine_first, str level) -> ()");
  library.def("turn_pair_by_angles(Tensor q, Tensor k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> (Tensor, Tensor)");
  library.def("turn_pair_by_angles_into(Tensor q, Tensor k, Tensor(a!) to_q, Tensor(b!) to_k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> ()");
  library.def("turn_pair_by_angles_(Tensor(a!) q, Tensor(b!) k, Tensor places, Tensor rates, float factor, int start, int blocks, bool adjacent, bool inverse) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("waves", TORCH_BOX(&waves));
  library.impl("waves_at", TORCH_BOX(&waves_at));
  library.impl("waves_into", TORCH_BOX(&waves_into));
  library.impl("waves_within", TORCH_BOX(&waves_within));
  library.impl("waves_within_at", TORCH_BOX(&waves_within_at));
  library.impl("turn_pair_by_angles", TORCH_BOX(&turn_pair_by_angles));
  library.impl("turn_pair_by_angles_into", TORCH_BOX(&turn_pair_by_angles_into));
  library.impl("turn_pair_by_angles_", TORCH_BOX(&turn_pair_by_angles_));
}
