// Tensors as the loops take them, checked here once more, so that no call from anywhere reads or writes memory that is not theirs.
#pragma once
#include <torch/csrc/stable/tensor.h>

#include <string>

#include "rotate.h"

namespace posenc {

using torch::stable::Tensor;

constexpr int64_t kTokens = 64;         // of one piece of work: their table stays in the cache for all heads
constexpr int64_t kSmallest = 1 << 16;  // channels below which a second thread costs more than it gives

constexpr int64_t kCached = 1 << 25;    // bytes, as much as caches hold of one result: larger ones are written past them

// x: (batch, heads, time, channels) of float32, bfloat16 or float16, its channels side by side.
Kind kind_of(const Tensor& x);
Heads heads_of(const Tensor& from, const Tensor& to);

// x: as above, with room for so many pairs.
void check_heads(const Tensor& x, int64_t pairs, int64_t start, int64_t blocks);

// cosine and sine: float32 (batch or 1, heads or 1, time, pairs), alike, that fit x.
Turn turn_of(const Tensor& x, const Tensor& cosine, const Tensor& sine, int64_t start, int64_t blocks, bool adjacent,
             bool inverse);

// out: of the shape and kind of x, its channels side by side.
void check_alike(const Tensor& x, const Tensor& out);

// k: of the kind, batch and width of q.
void check_together(const Tensor& q, const Tensor& k);

// All tokens of queries and of keys, turned by the table; keys.heads is 0 where there are none.
void turn_all(const Heads& queries, Turn of_q, const Heads& keys, Turn of_k, Kind kind, int64_t batch, int64_t time,
              const Level& level);

// The same by angles, whose cosines and sines are made as they are wanted. places: int64 (batch or 1, time, axes); rates: int64
// (kLimbs + 1, pairs), which must lie within the channels.
void turn_all(const Heads& queries, const Heads& keys, Kind kind, int64_t batch, int64_t time, int64_t channels,
              const Tensor& places, const Tensor& rates, double factor, int64_t start, int64_t blocks, bool adjacent, bool inverse);

// A level that this processor has, by its name: for tests.
const Level& level_named(const std::string& name);

}  // namespace posenc
