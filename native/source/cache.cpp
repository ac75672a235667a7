// The operator posenc::turn_into_cache_: queries turned where they are, keys turned straight into their cache, values copied.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "view.h"

namespace {

using namespace posenc;
using Scalar = torch::headeronly::ScalarType;

// Where each token goes: (batch or 1, time); pages follow each other in one numbering, rows of a batch have each their own.
struct Slots {
  const int64_t* numbers;
  int64_t of_row, of_token, size;  // strides, and places of a page or of a row
  bool paged;

  int64_t at(int64_t row, int64_t token) const { return numbers[row * of_row + token * of_token]; }

  // The end of the tokens from `token` on whose places follow each other.
  int64_t run(int64_t row, int64_t token, int64_t last) const {
    const int64_t first = at(row, token), room = size - first % size;
    int64_t end = token + 1;
    while (end < last && end - token < room && at(row, end) == first + end - token) ++end;
    return end;
  }
};

// What is turned, what is copied, where both go and by what slots: looked at whole before anything is written.
struct Step {
  View q, k, v, k_cache, v_cache;

  void check(bool paged) const {
    STD_TORCH_CHECK(v.kind == k.kind && v.size[0] == k.size[0] && v.size[1] == k.size[1] && v.size[2] == k.size[2],
                    "v must have the dtype, batch, heads and time of k");
    check_cache(k, k_cache, paged);
    check_cache(v, v_cache, paged);
    STD_TORCH_CHECK(k_cache.size[0] == v_cache.size[0] && k_cache.size[2] == v_cache.size[2], "both caches must have the same places");
    for (const View* x : {&q, &k_cache, &v_cache}) STD_TORCH_CHECK(spread(*x), "what is written must not overlap itself");
    STD_TORCH_CHECK(apart(q, k) && apart(q, v), "q must have memory of its own");
    for (const View* cache : {&k_cache, &v_cache})
      for (const View* x : {&q, &k, &v}) STD_TORCH_CHECK(beyond(*cache, *x), "a cache must have memory of its own");
    STD_TORCH_CHECK(apart(k_cache, v_cache), "v_cache must have memory of its own");
  }

 private:
  static void check_cache(const View& x, const View& cache, bool paged) {
    STD_TORCH_CHECK(cache.kind == x.kind && cache.size[1] == x.size[1] && cache.size[3] == x.size[3] && (paged || cache.size[0] == x.size[0]),
                    "a cache must have the dtype, heads, channels and, unless paged, the batch of what it keeps");
  }
};

// Whether each token has a place of its own; rows that share their slots are one row, unless pages are of all rows.
bool distinct(const Slots& slots, int64_t rows, int64_t time) {
  std::vector<int64_t> seen;
  for (int64_t row = 0; row < rows; ++row) {
    if (!slots.paged) seen.clear();
    for (int64_t token = 0; token < time; ++token) seen.push_back(slots.at(row, token));
    if (slots.paged && row + 1 < rows) continue;
    if (!std::is_sorted(seen.begin(), seen.end())) std::sort(seen.begin(), seen.end());
    if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) return false;
  }
  return true;
}

// slots: int64 (time,) or (batch or 1, time).
Slots slots_of(const Tensor& slots, const View& k, const View& cache, bool paged) {
  STD_TORCH_CHECK(slots.is_cpu() && slots.scalar_type() == Scalar::Long && (slots.dim() == 1 || slots.dim() == 2),
                  "slots must be int64 (time,) or (batch or 1, time) on the CPU");
  const int64_t rows = slots.dim() == 2 ? slots.size(0) : 1, time = slots.size(-1);
  STD_TORCH_CHECK(time == k.size[2] && (rows == k.size[0] || rows == 1), "slots must be one for each token");
  const Slots found{static_cast<const int64_t*>(slots.data_ptr()), rows == 1 ? 0 : slots.stride(0), slots.stride(-1), cache.size[2], paged};
  const int64_t end = paged ? cache.size[0] * cache.size[2] : cache.size[2];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t token = 0; token < time; ++token)
      STD_TORCH_CHECK(found.at(row, token) >= 0 && found.at(row, token) < end, "slots must be places of the cache");
  STD_TORCH_CHECK(distinct(found, paged ? k.size[0] : rows, time), "slots must be places of one token each");
  return found;
}

// The tokens of one run as the only row of a batch, and the places of the cache that they go to.
Heads run_of(const View& x, const View& cache, const Slots& slots, int64_t row, int64_t token) {
  const int64_t slot = slots.at(row, token), page = slots.paged ? slot / slots.size : row, place = slots.paged ? slot % slots.size : slot;
  return {x.data + x.bytes * (row * x.stride[0] + token * x.stride[2]), cache.data + x.bytes * (page * cache.stride[0] + place * cache.stride[2]),
          x.size[1], 0, x.stride[1], x.stride[2], 0, cache.stride[1], cache.stride[2]};
}

Turn turn_from(Turn turn, int64_t row, int64_t token) {
  turn.cosine += row * turn.of_batch + token * turn.of_time;
  turn.sine += row * turn.of_batch + token * turn.of_time;
  return turn;
}

void copied(const Heads& x, int64_t bytes, int64_t channels, int64_t count) {
  for (int64_t token = 0; token < count; ++token)
    for (int64_t head = 0; head < x.heads; ++head)
      std::memcpy(static_cast<char*>(x.to) + bytes * (head * x.to_head + token * x.to_time),
                  static_cast<const char*>(x.from) + bytes * (head * x.from_head + token * x.from_time), bytes * channels);
}

void turn_into_cache(const Step& step, const Turn& turn, const Tensor& slots, bool paged) {
  const auto& [q, k, v, k_cache, v_cache] = step;
  step.check(paged);
  const Slots to = slots_of(slots, k, k_cache, paged);
  const Heads queries = heads_of(q, q);
  const int64_t batch = q.size[0], time = q.size[2], channels = q.size[1] * q.size[3] + k.size[1] * (k.size[3] + v.size[3]);
  if (batch == 0 || time == 0 || channels == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, of_piece = std::min(time, kTokens) * channels;
  const auto rows = best_level().rows;
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = piece % pieces * kTokens, last = std::min(time, first + kTokens);
      rows(queries, turn, q.kind, row, first, last);
      for (int64_t token = first, next; token < last; token = next) {
        next = to.run(row, token, last);
        rows(run_of(k, k_cache, to, row, token), turn_from(turn, row, token), q.kind, 0, 0, next - token);
        copied(run_of(v, v_cache, to, row, token), v.bytes, v.size[3], next - token);
      }
    }
  });
}

// Tensors as (batch, heads, time, channels), tables of four axes: for tracers as well.
void turn_into_cache_(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cosine, const Tensor& sine, const Tensor& k_cache,
                      const Tensor& v_cache, const Tensor& slots, bool paged, int64_t start, int64_t blocks, bool adjacent) {
  const Turn of_q = turn_of(q, cosine, sine, start, blocks, adjacent, false);
  const Turn of_k = turn_of(k, cosine, sine, start, blocks, adjacent, false);
  check_together(q, k);
  STD_TORCH_CHECK(of_q.of_head == of_k.of_head, "heads of their own must be those of q and k");
  turn_into_cache({view_of(q, false), view_of(k, false), view_of(v, false), view_of(k_cache, false), view_of(v_cache, false)}, of_q,
                  slots, paged);
}

// All as it is given, see calls.cpp.
void rotate_into_cache_(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cosine, const Tensor& sine, const Tensor& k_cache,
                        const Tensor& v_cache, const Tensor& slots, int64_t packed) {
  const Form form = form_of(packed);
  const bool by = form.time_first;
  const Step step{view_of(q, by), view_of(k, by), view_of(v, by), view_of(k_cache, by), view_of(v_cache, by)};
  turn_into_cache(step, turn_of(cosine, sine, form, step.q, step.k), slots, form.paged);
}

void refuse(torch::stable::detail::StableLibrary& library) {
  library.impl("rotate_into_cache_", TORCH_BOX(&Followed<decltype(rotate_into_cache_)>::refused));
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def("turn_into_cache_(Tensor(a!) q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor(b!) k_cache, Tensor(c!) v_cache, Tensor slots, bool paged, int start, int blocks, bool adjacent) -> ()");
  library.def("rotate_into_cache_(Tensor(a!) q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor(b!) k_cache, Tensor(c!) v_cache, Tensor slots, int form) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("turn_into_cache_", TORCH_BOX(&turn_into_cache_));
  library.impl("rotate_into_cache_", TORCH_BOX(&rotate_into_cache_));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, Python, library) { refuse(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, FuncTorchDynamicLayerFrontMode, library) { refuse(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, Negative, library) { refuse(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, Tracer, library) { refuse(library); }
