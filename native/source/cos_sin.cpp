// Operators that make cosines and sines of integer positions: a table of them, and rotation without a table.
//
// positions: int64 (batch or 1, time, axes). frequencies: int64 (kLimbs + 1, pairs), rows of limbs of fractions of a
// revolution a position, the topmost first, and a row of the coordinate that each pair reads.
#include <torch/csrc/stable/library.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "memory.h"
#include "tensors.h"

namespace {

using namespace posenc;
using Scalar = torch::headeronly::ScalarType;

Angles angles_of(const Tensor& positions, const Tensor& frequencies, double factor) {
  for (const Tensor* x : {&positions, &frequencies})
    STD_TORCH_CHECK(x->is_cpu() && x->scalar_type() == Scalar::Long && x->is_contiguous(),
                    "positions and frequencies must be int64 on the CPU, contiguous");
  STD_TORCH_CHECK(positions.dim() == 3 && positions.size(2) >= 1, "positions must be (batch or 1, time, axes)");
  STD_TORCH_CHECK(frequencies.dim() == 2 && frequencies.size(0) == kLimbs + 1, "frequencies must be (", kLimbs + 1,
                  ", pairs)");
  const int64_t axes = positions.size(2), pairs = frequencies.size(1);
  const auto* limbs = static_cast<const uint64_t*>(frequencies.data_ptr());
  const auto* axis = static_cast<const int64_t*>(frequencies.data_ptr()) + kLimbs * pairs;
  bool are_limbs = true, are_axes = true, tiny = false;
  for (int64_t i = 0; i < kLimbs * pairs; ++i) are_limbs &= limbs[i] >> 32 == 0;
  for (int64_t i = 0; i < pairs; ++i) {
    are_axes &= axis[i] >= 0 && axis[i] < axes;
    const uint64_t top = limbs[i] << 32 | limbs[pairs + i];
    const uint64_t rest = limbs[2 * pairs + i] | limbs[3 * pairs + i] | limbs[4 * pairs + i];
    tiny |= std::min(top, ~top) < (uint64_t{1} << 24) && (top | rest);  // below 2^-40 revolutions, either way
  }
  STD_TORCH_CHECK(are_limbs && are_axes, "frequencies must hold limbs below 2^32 and, last, axes of positions");
  return {limbs, axis, axes, pairs, factor, tiny};
}

// Whether so many positions rise one by one that steps are worth making, and the factor neither hides nor breaks a
// margin.
bool has_runs(const Angles& angles, const int64_t* positions, int64_t count) {
  if (count < kLeastRun || !(std::fabs(angles.factor) >= 0x1p-40 && std::fabs(angles.factor) <= 0x1p40)) return false;
  int64_t rising = 1;
  const int64_t* const end = positions + count * angles.axes;
  for (const int64_t* here = positions + angles.axes; here < end && rising < kLeastRun; here += angles.axes) {
    bool all = true;
    for (int64_t axis = 0; axis < angles.axes; ++axis)
      all &= static_cast<uint64_t>(here[axis]) - static_cast<uint64_t>(here[axis - angles.axes]) == 1;
    rising += all;
  }
  return rising >= kLeastRun;
}

// Positions and frequencies, with the tiles of steps where those are worth making.
struct Problem {
  const Tensor& positions;
  const InstructionSet& set;
  Angles angles;
  std::unique_ptr<CosSinTile[]> tiles;

  Problem(const Tensor& positions, const Tensor& frequencies, double factor, const InstructionSet& set)
      : positions(positions), set(set), angles(angles_of(positions, frequencies, factor)) {
    if (!has_runs(angles, at(0, 0), rows())) return;
    tiles.reset(new CosSinTile[tiles_of(angles.pairs)]);
    set.step_tiles(angles, tiles.get());
    angles.steps = tiles.get();
  }

  bool is_shared() const { return positions.size(0) == 1; }
  int64_t rows() const { return positions.size(0) * positions.size(1); }
  const int64_t* at(int64_t row, int64_t first) const {
    return static_cast<const int64_t*>(positions.data_ptr()) +
           ((is_shared() ? 0 : row) * positions.size(1) + first) * angles.axes;
  }
};

// Rows that fill lines of memory, and are more than caches hold, need not be read before they are written.
bool streams(const Output& out, int64_t rows) {
  const bool separate = out.order == Order::separate;
  auto starts_line = [](const float* row) { return reinterpret_cast<uintptr_t>(row) % kLine == 0; };
  const bool starts =
      separate ? starts_line(out.cosine) && starts_line(out.sine) : starts_line(std::min(out.cosine, out.sine));
  return starts && out.cosines == out.sines && (separate ? 1 : 2) * out.cosines % 16 == 0 && out.stride % 16 == 0 &&
         8 * out.cosines * rows >= kCached;
}

// Cosines and sines of every position into its row.
void fill(const Problem& problem, Output out) {
  const int64_t rows = problem.rows(), pairs = problem.angles.pairs;
  if (rows == 0 || pairs == 0) return;
  out.streamed = streams(out, rows);
  const int64_t grain = std::max<int64_t>(1, kSmallest / 8 / pairs);  // a pair costs as much as some eight channels
  torch::stable::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    Output part = out;
    part.cosine += begin * out.stride;
    part.sine += begin * out.stride;
    problem.set.cos_sin_rows(problem.angles, problem.at(0, begin), end - begin, part);
  });
}

// table: float32 (rows, time, width) on the CPU, a row for each position; the stride of its rows, which are evenly
// spaced.
int64_t row_stride_of(const Tensor& table, const Tensor& positions) {
  STD_TORCH_CHECK(table.is_cpu() && table.scalar_type() == Scalar::Float && table.dim() == 3 && table.stride(2) == 1,
                  "a table must be float32 (rows, time, width) on the CPU, its rows contiguous");
  const int64_t rows = table.size(0), time = table.size(1), width = table.size(2);
  STD_TORCH_CHECK(rows == positions.size(0) && time == positions.size(1), "a table must have a row for each position");
  if (rows * time <= 1) return width;
  const int64_t stride = table.stride(time > 1 ? 1 : 0);
  STD_TORCH_CHECK(stride >= width && (rows == 1 || time == 1 || table.stride(0) == time * stride),
                  "rows of a table must be evenly spaced and must not overlap");
  return stride;
}

float* floats_of(const Tensor& x) { return static_cast<float*>(x.data_ptr()); }

std::tuple<Tensor, Tensor> cos_sin(const Tensor& positions, const Tensor& frequencies, double factor, std::string set) {
  const Problem problem(positions, frequencies, factor, instruction_set(set));
  const int64_t pairs = problem.angles.pairs, shape[] = {positions.size(0), positions.size(1), pairs};
  Tensor cosine = torch::stable::new_empty(positions, shape, Scalar::Float);
  Tensor sine = torch::stable::new_empty(positions, shape, Scalar::Float);
  fill(problem, {floats_of(cosine), floats_of(sine), pairs, pairs, pairs, Order::separate});
  return {cosine, sine};
}

// cosine and sine: (rows, time, pairs) with the same strides, and no number in both.
void cos_sin_into(const Tensor& positions, const Tensor& frequencies, double factor, const Tensor& cosine,
                  const Tensor& sine) {
  const Problem problem(positions, frequencies, factor, instruction_set());
  const int64_t pairs = problem.angles.pairs, stride = row_stride_of(cosine, positions), rows = problem.rows();
  STD_TORCH_CHECK(row_stride_of(sine, positions) == stride && cosine.size(2) == pairs && sine.size(2) == pairs,
                  "cosine and sine must have the same shape and strides, with a number for each pair");
  const int64_t bytes = std::abs(static_cast<char*>(cosine.data_ptr()) - static_cast<char*>(sine.data_ptr())),
                between = bytes / 4;
  const bool alternate = bytes % 4 == 0 && between % stride >= pairs && between % stride + pairs <= stride;
  STD_TORCH_CHECK(rows * pairs == 0 || between >= (rows - 1) * stride + pairs || alternate,
                  "cosine and sine must share no memory");
  fill(problem, {floats_of(cosine), floats_of(sine), stride, pairs, pairs, Order::separate});
}

// table: (rows, time, width) of cosines and sines, by turns or one after the other; the last number may be left out.
void cos_sin_within(const Tensor& positions, const Tensor& frequencies, double factor, const Tensor& table,
                    bool by_turns, bool sine_first, std::string set) {
  const Problem problem(positions, frequencies, factor, instruction_set(set));
  const int64_t pairs = problem.angles.pairs, stride = row_stride_of(table, positions), width = table.size(2);
  STD_TORCH_CHECK(width == 2 * pairs || width == 2 * pairs - 1,
                  "a table must have a cosine and a sine for each pair, or one less");
  float *first = floats_of(table), *second = first + (by_turns ? 1 : pairs);
  const Order order = !by_turns ? Order::separate : sine_first ? Order::sine_first : Order::cosine_first;
  if (sine_first)
    fill(problem, {second, first, stride, width - pairs, pairs, order});
  else
    fill(problem, {first, second, stride, pairs, width - pairs, order});
}

// Rotations of some tokens, of which the table is made when it is needed and kept for rows of the batch that share it.
struct RotationMaker {
  const Problem& problem;
  Rotation rotation_of_all;
  std::unique_ptr<float[]> table;
  int64_t kept = -1;

  const Rotation& rotation(int64_t row, int64_t first, int64_t last) {
    const int64_t pairs = problem.angles.pairs;
    if (kept != first || !problem.is_shared()) {
      float *cosine = table.get(), *sine = cosine + kTokens * pairs;
      problem.set.cos_sin_rows(problem.angles, problem.at(row, first), last - first,
                               {cosine, sine, pairs, pairs, pairs, Order::separate});
      rotation_of_all.cosine = cosine;
      rotation_of_all.sine = sine;
      rotation_of_all.begin = kept = first;
    }
    return rotation_of_all;
  }
};

void rotate_by(const View& q, const View& to_q, const View& k, const View& to_k, const Tensor& positions,
               const Tensor& frequencies, double factor, const Channels& channels, bool inverse) {
  const Problem problem(positions, frequencies, factor, instruction_set());
  const int64_t pairs = problem.angles.pairs;
  check_pair(q, k, channels, pairs);
  STD_TORCH_CHECK(q.size[2] == positions.size(1) && (problem.is_shared() || q.size[0] == positions.size(0)),
                  "positions must have the time of q, and its batch or one row for all");
  const Rotation rotation{
      nullptr,           nullptr, 0, 0, pairs, q.size[3], channels.start, channels.blocks, pairs / channels.blocks,
      channels.adjacent, inverse};
  rotate_pieces(heads_of(q, to_q), heads_of(k, to_k), q, problem.set,
                [&] {
                  return RotationMaker{problem, rotation, std::unique_ptr<float[]>(new float[2 * kTokens * pairs])};
                });
}

// q, k: (batch, heads, time, channels).
std::tuple<Tensor, Tensor> rotate_by_angles(const Tensor& q, const Tensor& k, const Tensor& positions,
                                            const Tensor& frequencies, double factor, int64_t start, int64_t blocks,
                                            bool adjacent, bool inverse) {
  Tensor to_q = torch::stable::empty_like(q), to_k = torch::stable::empty_like(k);
  rotate_by(view_of(q), view_of(to_q), view_of(k), view_of(to_k), positions, frequencies, factor,
            {start, blocks, adjacent}, inverse);
  return {to_q, to_k};
}

void rotate_by_angles_(const Tensor& q, const Tensor& k, const Tensor& positions, const Tensor& frequencies,
                       double factor, int64_t start, int64_t blocks, bool adjacent, bool inverse) {
  const View queries = view_of(q), keys = view_of(k);
  rotate_by(queries, queries, keys, keys, positions, frequencies, factor, {start, blocks, adjacent}, inverse);
}

void rotate_by(const Untraced& from, const Untraced& to, const Tensor& positions, const Tensor& frequencies,
               double factor) {
  STD_TORCH_CHECK(from.form.heads == 0 && frequencies.dim() == 2 && frequencies.size(1) == from.form.pairs,
                  "frequencies must have the pairs of the form");
  rotate_by(from.q, to.q, from.k, to.k, positions, frequencies, factor, from.form, false);
}

void rotate_by_angles_untraced_(const Tensor& q, const Tensor& k, const Tensor& positions, const Tensor& frequencies,
                                double factor, int64_t form) {
  const Untraced both(q, k, Form(form));
  both.check_writable();
  rotate_by(both, both, positions, frequencies, factor);
}

std::tuple<Tensor, Tensor> rotate_by_angles_untraced(const Tensor& q, const Tensor& k, const Tensor& positions,
                                                     const Tensor& frequencies, double factor, int64_t form) {
  const Untraced from(q, k, Form(form));
  Tensor to_q = new_like(q), to_k = new_like(k);
  rotate_by(from, Untraced(to_q, to_k, from.form), positions, frequencies, factor);
  return {to_q, to_k};
}

void refuse(torch::stable::detail::StableLibrary& library) {
  POSENC_REFUSE(library, rotate_by_angles_untraced_);
  POSENC_REFUSE(library, rotate_by_angles_untraced);
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def(
      "cos_sin(Tensor positions, Tensor frequencies, float factor, str instruction_set='') -> (Tensor, Tensor)");
  library.def(
      "cos_sin_into(Tensor positions, Tensor frequencies, float factor, Tensor(a!) cosine, Tensor(b!) sine) -> ()");
  library.def(
      "cos_sin_within(Tensor positions, Tensor frequencies, float factor, Tensor(a!) table, bool by_turns, "
      "bool sine_first, str instruction_set='') -> ()");
  library.def(
      "rotate_by_angles(Tensor q, Tensor k, Tensor positions, Tensor frequencies, float factor, int start, int blocks, "
      "bool adjacent, bool inverse) -> (Tensor, Tensor)");
  library.def(
      "rotate_by_angles_(Tensor(a!) q, Tensor(b!) k, Tensor positions, Tensor frequencies, float factor, int start, "
      "int blocks, bool adjacent, bool inverse) -> ()");
  library.def(
      "rotate_by_angles_untraced(Tensor q, Tensor k, Tensor positions, Tensor frequencies, float factor, int form) "
      "-> (Tensor, Tensor)");
  library.def(
      "rotate_by_angles_untraced_(Tensor(a!) q, Tensor(b!) k, Tensor positions, Tensor frequencies, float factor, "
      "int form) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("cos_sin", TORCH_BOX(&cos_sin));
  library.impl("cos_sin_into", TORCH_BOX(&cos_sin_into));
  library.impl("cos_sin_within", TORCH_BOX(&cos_sin_within));
  library.impl("rotate_by_angles", TORCH_BOX(&rotate_by_angles));
  library.impl("rotate_by_angles_", TORCH_BOX(&rotate_by_angles_));
  library.impl("rotate_by_angles_untraced", TORCH_BOX(&rotate_by_angles_untraced));
  library.impl("rotate_by_angles_untraced_", TORCH_BOX(&rotate_by_angles_untraced_));
}

POSENC_REFUSE_TRACED(refuse)
