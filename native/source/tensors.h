// Tensors as the loops take them. All that an operator is given is checked here before anything is written, so that no
// call from anywhere reads or writes memory that is not its own. Python says with more words what is wrong.
#pragma once
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <string>

#include "instruction_sets.h"

namespace posenc {

using torch::stable::Tensor;

constexpr int64_t kTokens = 64;         // of one piece of work: their table stays in the cache for all heads
constexpr int64_t kSmallest = 1 << 16;  // channels below which a second thread costs more than it gains
constexpr int64_t kCached = 1 << 25;    // bytes of one result from which it is written past the caches

// A tensor (batch, heads, time, channels) of contiguous channels, read once: LibTorch is called for each of its
// properties, which matters where the work is one token. Strides are in elements.
struct View {
  char* data;
  DType dtype;
  int64_t element;  // bytes
  int64_t size[4], stride[4];

  int64_t numel() const { return size[0] * size[1] * size[2] * size[3]; }
};

// x: float32, bfloat16 or float16 on the CPU; time_first: (batch, time, heads, channels).
View view_of(const Tensor& x, bool time_first = false);
DType dtype_of(const Tensor& x);
Heads heads_of(const View& from, const View& to);

// Which channels of a head are rotated; `adjacent`: pairs are neighbours, else halves of each block.
struct Channels {
  int64_t start, blocks;
  bool adjacent;
};

// A pairing and the order of axes, which Python packs into one number, as a call of one token is over sooner than more
// arguments are passed: see posenc/kernels/packed_form.py.
struct Form : Channels {
  bool time_first, paged;
  int64_t dim, pairs;
  int64_t heads;  // of the tables, where each head has its own; else 0

  explicit Form(int64_t packed);
};

// Queries and keys that no tracer follows, with axes in the order of the form.
struct Untraced {
  Form form;
  View q, k;

  Untraced(const Tensor& queries, const Tensor& keys, const Form& form);
  void check_writable() const;
  Rotation rotation_by(const Tensor& cosine, const Tensor& sine) const;
};

// Queries and keys of one batch, time, width and dtype, of which so many pairs are to be rotated.
void check_pair(const View& q, const View& k, const Channels& channels, int64_t pairs);

// The rotation of q and k by tables ([batch or 1,] [heads or 1,] time, pairs), float32, both with the same strides.
// heads: whether tables have an axis for the heads of q and k.
Rotation rotation_of(const Tensor& cosine, const Tensor& sine, bool heads, const View& q, const View& k,
             const Channels& channels, bool inverse);

// Whether two elements share memory, as far as can be seen: true unless each axis steps over all that smaller ones
// reach.
bool self_overlapping(const View& x);

// Whether one ends in memory before the other begins.
bool separate(const View& one, const View& other);

// Whether two tensors share no element, as far as can be seen; one may reach into the other's memory.
bool disjoint(const View& one, const View& other);

bool same_shape(const View& one, const View& other);

// New contiguous memory, the axes in the order of those of x; channels last.
Tensor new_like(const Tensor& x);

// Rotates all heads of queries and of keys; keys.heads is 0 where there are none. Each thread calls `make` for an
// object whose `rotation(row, first, last)` gives the rotation of some tokens.
template <typename Make>
void rotate_pieces(const Heads& queries, const Heads& keys, const View& q, const InstructionSet& set, Make make) {
  const int64_t batch = q.size[0], time = q.size[2], width = (queries.heads + keys.heads) * q.size[3];
  if (batch == 0 || time == 0 || width == 0) return;
  const int64_t pieces = (time + kTokens - 1) / kTokens, grain = kSmallest / (std::min(time, kTokens) * width);
  const bool streamed = batch * time * width * q.element >= kCached;
  torch::stable::parallel_for(0, batch * pieces, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    auto source = make();
    for (int64_t item = begin; item < end;
         ++item) {  // all rows of the batch follow each other, as they may share a table
      const int64_t row = item % batch, first = item / batch * kTokens, last = std::min(time, first + kTokens);
      Rotation rotation = source.rotation(row, first, last);
      rotation.streamed = streamed;
      set.rotate_heads(queries, rotation, q.dtype, row, first, last);
      if (keys.heads != 0) set.rotate_heads(keys, rotation, q.dtype, row, first, last);
    }
  });
}

// Registers, for every key of a tracer, a transform or a mode, a kernel that refuses tensors which these follow.
[[noreturn]] void refuse_traced();
template <typename Signature>
struct Refusing;
template <typename Result, typename... Arguments>
struct Refusing<Result(Arguments...)> {
  static Result kernel(Arguments...) { refuse_traced(); }
};

#define POSENC_REFUSE(library, name) library.impl(#name, TORCH_BOX(&posenc::Refusing<decltype(name)>::kernel))
#define POSENC_REFUSE_TRACED(refuse)                                                              \
  STABLE_TORCH_LIBRARY_IMPL(posenc, Python, library) { refuse(library); }                         \
  STABLE_TORCH_LIBRARY_IMPL(posenc, FuncTorchDynamicLayerFrontMode, library) { refuse(library); } \
  STABLE_TORCH_LIBRARY_IMPL(posenc, Negative, library) { refuse(library); }                       \
  STABLE_TORCH_LIBRARY_IMPL(posenc, Tracer, library) { refuse(library); }

}  // namespace posenc
