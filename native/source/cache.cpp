// The operator posenc::turn_into_cache_: queries turned where they are, keys turned straight into their cache, values copied.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tensors.h"

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

void check_cache(const Tensor& x, const Tensor& cache, bool paged) {
  STD_TORCH_CHECK(cache.dim() == 4 && cache.is_cpu() && cache.stride(3) == 1 && cache.scalar_type() == x.scalar_type(),
                  "a cache must have four axes on the CPU, channels side by side, and the dtype of what it keeps");
  STD_TORCH_CHECK(cache.size(1) == x.size(1) && cache.size(3) == x.size(3) && (paged || cache.size(0) == x.size(0)),
                  "a cache must have the heads, channels and, unless paged, the batch of what it keeps");
}

// The places of a tensor in memory, from the first byte to behind the last.
struct Range {
  const char *begin, *end;

  explicit Range(const Tensor& x) : begin(static_cast<const char*>(x.data_ptr())), end(begin) {
    int64_t last = 0;
    for (int64_t axis = 0; axis < 4; ++axis) last += (x.size(axis) - 1) * x.stride(axis);
    if (x.numel() != 0) end += (last + 1) * (x.scalar_type() == Scalar::Float ? 4 : 2);
  }
  bool meets(Range other) const { return begin < other.end && other.begin < end; }
};

// Whether two tensors of the same shape and strides, so many numbers apart, share one. Strides, the largest first, must each
// reach over all that the smaller ones do; else the answer is yes.
bool share(const Tensor& x, const int (&axes)[4], int64_t apart, int next = 0) {
  if (next == 4) return apart == 0;
  const int64_t stride = x.stride(axes[next]), size = x.size(axes[next]);
  if (size == 1) return share(x, axes, apart, next + 1);
  int64_t rest = 0;
  for (int inner = next + 1; inner < 4; ++inner) rest += (x.size(axes[inner]) - 1) * x.stride(axes[inner]);
  if (rest >= stride) return true;
  const int64_t below = apart / stride - (apart % stride < 0);
  for (int64_t steps : {below, below + 1})
    if (-size < steps && steps < size && share(x, axes, apart - steps * stride, next + 1)) return true;
  return false;
}

bool alike(const Tensor& one, const Tensor& other) {
  bool same = true;
  for (int64_t axis = 0; axis < 4; ++axis) same &= one.size(axis) == other.size(axis) && one.stride(axis) == other.stride(axis);
  return same;
}

// Nothing may be written where another tensor is read or written, or twice.
void check_memory(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& k_cache, const Tensor& v_cache) {
  for (const Tensor* x : {&q, &k_cache, &v_cache})
    for (int64_t axis = 0; axis < 4; ++axis)
      STD_TORCH_CHECK(x->stride(axis) > 0 || x->size(axis) <= 1, "what is written must not overlap itself");
  STD_TORCH_CHECK(q.numel() == 0 || (q.data_ptr() != k.data_ptr() && q.data_ptr() != v.data_ptr()), "q must have memory of its own");
  for (const Tensor* cache : {&k_cache, &v_cache})
    for (const Tensor* x : {&q, &k, &v})
      STD_TORCH_CHECK(!Range(*cache).meets(Range(*x)), "a cache must have memory of its own");
  if (!Range(k_cache).meets(Range(v_cache))) return;
  int axes[4] = {0, 1, 2, 3};
  std::sort(axes, axes + 4, [&](int one, int other) { return k_cache.stride(one) > k_cache.stride(other); });
  const int64_t bytes = static_cast<const char*>(v_cache.data_ptr()) - static_cast<const char*>(k_cache.data_ptr());
  const int64_t size = k_cache.scalar_type() == Scalar::Float ? 4 : 2;
  STD_TORCH_CHECK(alike(k_cache, v_cache) && bytes % size == 0 && !share(k_cache, axes, bytes / size),
                  "v_cache must have memory of its own");
}

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

Slots slots_of(const Tensor& slots, const Tensor& k, const Tensor& cache, bool paged) {
  STD_TORCH_CHECK(slots.is_cpu() && slots.scalar_type() == Scalar::Long && slots.dim() == 2 && slots.size(1) == k.size(2) &&
                      (slots.size(0) == k.size(0) || slots.size(0) == 1),
                  "slots must be int64 (batch or 1, time) on the CPU");
  const Slots found{static_cast<const int64_t*>(slots.data_ptr()), slots.size(0) == 1 ? 0 : slots.stride(0), slots.stride(1),
                    cache.size(2), paged};
  const int64_t end = paged ? cache.size(0) * cache.size(2) : cache.size(2);
  for (int64_t row = 0; row < slots.size(0); ++row)
    for (int64_t token = 0; token < slots.size(1); ++token)
      STD_TORCH_CHECK(found.at(row, token) >= 0 && found.at(row, token) < end, "slots must be places of the cache");
  STD_TORCH_CHECK(distinct(found, paged ? k.size(0) : slots.size(0), slots.size(1)), "slots must be places of one token each");
  return found;
}

// The tokens of one run as the only row of a batch, and the places of the cache that they go to.
Heads run_of(const Tensor& x, const Tensor& cache, const Slots& slots, int64_t row, int64_t token) {
  const int64_t slot = slots.at(row, token), page = slots.paged ? slot / slots.size : row, place = slots.paged ? slot % slots.size : slot;
  const int64_t bytes = x.scalar_type() == Scalar::Float ? 4 : 2;
  const auto* from = static_cast<const char*>(x.data_ptr()) + bytes * (row * x.stride(0) + token * x.stride(2));
  auto* to = static_cast<char*>(cache.data_ptr()) + bytes * (page * cache.stride(0) + place * cache.stride(2));
  return {from, to, x.size(1), 0, x.stride(1), x.stride(2), 0, cache.stride(1), cache.stride(2)};
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

void turn_into_cache_(Tensor q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor k_cache, Tensor v_cache, Tensor slots,
                      bool paged, int64_t start, int64_t blocks, bool adjacent) {
  const Turn of_q = turn_of(q, cosine, sine, start, blocks, adjacent, false);
  const Turn of_k = turn_of(k, cosine, sine, start, blocks, adjacent, false);
  const Kind kind = kind_of(q);
  check_together(q, k);
  STD_TORCH_CHECK(v.dim() == 4 && v.is_cpu() && v.stride(3) == 1 && kind_of(v) == kind && v.size(0) == k.size(0) && v.size(2) == k.size(2),
                  "v must have the dtype, batch and time of k, its channels side by side");
  check_cache(k, k_cache, paged);
  check_cache(v, v_cache, paged);
  STD_TORCH_CHECK(k_cache.size(0) == v_cache.size(0) && k_cache.size(2) == v_cache.size(2), "both caches must have the same places");
  check_memory(q, k, v, k_cache, v_cache);
  const Slots to = slots_of(slots, k, k_cache, paged);
  const Heads queries = heads_of(q, q);
  const int64_t batch = q.size(0), time = q.size(2), bytes = kind == Kind::float32 ? 4 : 2;
  const int64_t channels = q.size(1) * q.size(3) + k.size(1) * k.size(3) + v.size(1) * v.size(3);
  if (batch == 0 || time == 0 || channels == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, of_piece = std::min(time, kTokens) * channels;
  const auto rows = best_level().rows;
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, kSmallest / of_piece), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / pieces, first = piece % pieces * kTokens, last = std::min(time, first + kTokens);
      rows(queries, of_q, kind, row, first, last);
      for (int64_t token = first, next; token < last; token = next) {
        next = to.run(row, token, last);
        rows(run_of(k, k_cache, to, row, token), turn_from(of_k, row, token), kind, 0, 0, next - token);
        copied(run_of(v, v_cache, to, row, token), bytes, v.size(3), next - token);
      }
    }
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def("turn_into_cache_(Tensor(a!) q, Tensor k, Tensor v, Tensor cosine, Tensor sine, Tensor(b!) k_cache, Tensor(c!) v_cache, Tensor slots, bool paged, int start, int blocks, bool adjacent) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) { library.impl("turn_into_cache_", TORCH_BOX(&turn_into_cache_)); }
