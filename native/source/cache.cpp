// Operators that rotate queries where they are and keys straight into their cache, and copy values into theirs.
#include <torch/csrc/stable/library.h>

#include <cstring>

#include "tensors.h"

namespace {

using namespace posenc;
using Scalar = torch::headeronly::ScalarType;

// The slot of each token, (batch or 1, time): its position in its row of the cache or, paged, page times size plus
// position in it.
struct Slots {
  const int64_t* numbers;
  int64_t row_stride, token_stride, size;  // size: positions of a page or of a row
  bool paged;

  int64_t at(int64_t row, int64_t token) const { return numbers[row * row_stride + token * token_stride]; }

  // The end of the tokens from `token` on whose slots follow each other.
  int64_t run(int64_t row, int64_t token, int64_t last) const {
    const int64_t first = at(row, token), room = size - first % size;
    int64_t end = token + 1;
    while (end < last && end - token < room && at(row, end) == first + end - token) ++end;
    return end;
  }
};

// What is rotated, what is copied, and where both are written.
struct Step {
  View q, k, v, k_cache, v_cache;

  void check(bool paged) const {
    STD_TORCH_CHECK(v.dtype == k.dtype && std::equal(v.size, v.size + 3, k.size),
                    "v must have the dtype, batch, heads and time of k");
    check_cache(k, k_cache, paged);
    check_cache(v, v_cache, paged);
    STD_TORCH_CHECK(k_cache.size[0] == v_cache.size[0] && k_cache.size[2] == v_cache.size[2],
                    "both caches must have the same slots");
    for (const View* x : {&q, &k_cache, &v_cache})
      STD_TORCH_CHECK(!self_overlapping(*x), "what is written must not overlap itself");
    STD_TORCH_CHECK(disjoint(q, k) && disjoint(q, v), "q must have memory of its own");
    for (const View* cache : {&k_cache, &v_cache})
      for (const View* x : {&q, &k, &v}) STD_TORCH_CHECK(separate(*cache, *x), "a cache must have memory of its own");
    STD_TORCH_CHECK(disjoint(k_cache, v_cache), "v_cache must have memory of its own");
  }

 private:
  static void check_cache(const View& x, const View& cache, bool paged) {
    STD_TORCH_CHECK(cache.dtype == x.dtype && cache.size[1] == x.size[1] && cache.size[3] == x.size[3] &&
                        (paged || cache.size[0] == x.size[0]),
                    "a cache must have the dtype, heads, channels and, unless paged, the batch of what it keeps");
  }
};

// Whether each token has a slot of its own; rows that share their slots are one row, unless pages are of all rows.
bool distinct(const Slots& slots, int64_t rows, int64_t time) {
  std::vector<int64_t> used;
  for (int64_t row = 0; row < rows; ++row) {
    if (!slots.paged) used.clear();
    for (int64_t token = 0; token < time; ++token) used.push_back(slots.at(row, token));
    if (slots.paged && row + 1 < rows) continue;
    if (!std::is_sorted(used.begin(), used.end())) std::sort(used.begin(), used.end());
    if (std::adjacent_find(used.begin(), used.end()) != used.end()) return false;
  }
  return true;
}

// slots: int64 (time,) or (batch or 1, time).
Slots slots_of(const Tensor& slots, const View& k, const View& cache, bool paged) {
  STD_TORCH_CHECK(slots.is_cpu() && slots.scalar_type() == Scalar::Long && (slots.dim() == 1 || slots.dim() == 2),
                  "slots must be int64 (time,) or (batch or 1, time) on the CPU");
  const int64_t rows = slots.dim() == 2 ? slots.size(0) : 1, time = slots.size(-1);
  STD_TORCH_CHECK(time == k.size[2] && (rows == k.size[0] || rows == 1), "slots must be one for each token");
  const Slots result{static_cast<const int64_t*>(slots.data_ptr()), rows == 1 ? 0 : slots.stride(0), slots.stride(-1),
                     cache.size[2], paged};
  const int64_t end = paged ? cache.size[0] * cache.size[2] : cache.size[2];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t token = 0; token < time; ++token)
      STD_TORCH_CHECK(result.at(row, token) >= 0 && result.at(row, token) < end, "slots must be in the cache");
  STD_TORCH_CHECK(distinct(result, paged ? k.size[0] : rows, time), "each slot must be that of one token");
  return result;
}

// The tokens of one run as the only row of a batch, and where they are written in the cache.
Heads run_of(const View& x, const View& cache, const Slots& slots, int64_t row, int64_t token) {
  const int64_t slot = slots.at(row, token), page = slots.paged ? slot / slots.size : row,
                at = slots.paged ? slot % slots.size : slot;
  return {x.data + x.element * (row * x.stride[0] + token * x.stride[2]),
          cache.data + x.element * (page * cache.stride[0] + at * cache.stride[2]),
          x.size[1],
          0,
          x.stride[1],
          x.stride[2],
          0,
          cache.stride[1],
          cache.stride[2]};
}

Rotation rotation_from(Rotation rotation, int64_t row, int64_t token) {
  rotation.cosine += row * rotation.batch_stride + token * rotation.time_stride;
  rotation.sine += row * rotation.batch_stride + token * rotation.time_stride;
  return rotation;
}

void copy(const Heads& x, int64_t element, int64_t channels, int64_t count) {
  for (int64_t token = 0; token < count; ++token)
    for (int64_t head = 0; head < x.heads; ++head)
      std::memcpy(static_cast<char*>(x.to) + element * (head * x.to_head + token * x.to_time),
                  static_cast<const char*>(x.from) + element * (head * x.from_head + token * x.from_time),
                  element * channels);
}

void rotate_step(const Step& step, const Rotation& rotation, const Tensor& slots, bool paged) {
  const auto& [q, k, v, k_cache, v_cache] = step;
  step.check(paged);
  const Slots to = slots_of(slots, k, k_cache, paged);
  const Heads queries = heads_of(q, q);
  const int64_t batch = q.size[0], time = q.size[2],
                width = q.size[1] * q.size[3] + k.size[1] * (k.size[3] + v.size[3]);
  if (batch == 0 || time == 0 || width == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, grain = kSmallest / (std::min(time, kTokens) * width);
  const InstructionSet& set = instruction_set();
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = piece % pieces * kTokens, last = std::min(time, first + kTokens);
      set.rotate_heads(queries, rotation, q.dtype, row, first, last);
      for (int64_t token = first, next; token < last; token = next) {
        next = to.run(row, token, last);
        set.rotate_heads(run_of(k, k_cache, to, row, token), rotation_from(rotation, row, token), q.dtype, 0, 0,
                         next - token);
        copy(run_of(v, v_cache, to, row, token), v.element, v.size[3], next - token);
      }
    }
  });
}

// For tracers: tensors (batch, heads, time, channels), tables (batch or 1, heads or 1, time, pairs).
void rotate_into_cache_(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cosine, const Tensor& sine,
                        const Tensor& k_cache, const Tensor& v_cache, const Tensor& slots, bool paged, int64_t start,
                        int64_t blocks, bool adjacent) {
  const Step step{view_of(q), view_of(k), view_of(v), view_of(k_cache), view_of(v_cache)};
  rotate_step(step, rotation_of(cosine, sine, true, step.q, step.k, {start, blocks, adjacent}, false), slots, paged);
}

// In one call, see rotate.cpp.
void rotate_into_cache_untraced_(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cosine,
                                 const Tensor& sine, const Tensor& k_cache, const Tensor& v_cache, const Tensor& slots,
                                 int64_t form) {
  const Untraced both(q, k, Form(form));
  auto view = [&](const Tensor& x) { return view_of(x, both.form.time_first); };
  rotate_step({both.q, both.k, view(v), view(k_cache), view(v_cache)}, both.rotation_by(cosine, sine), slots,
              both.form.paged);
}

void refuse(torch::stable::detail::StableLibrary& library) { POSENC_REFUSE(library, rotate_into_cache_untraced_); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def(
      "rotate_into_cache_(Tensor(a!) q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor(b!) k_cache, "
      "Tensor(c!) v_cache, Tensor slots, bool paged, int start, int blocks, bool adjacent) -> ()");
  library.def(
      "rotate_into_cache_untraced_(Tensor(a!) q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor(b!) k_cache, "
      "Tensor(c!) v_cache, Tensor slots, int form) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("rotate_into_cache_", TORCH_BOX(&rotate_into_cache_));
  library.impl("rotate_into_cache_untraced_", TORCH_BOX(&rotate_into_cache_untraced_));
}

POSENC_REFUSE_TRACED(refuse)
