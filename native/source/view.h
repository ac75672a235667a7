// Tensors as they are given, read once: LibTorch is asked for sizes and strides by a call for each, and a token has few others.
#pragma once
#include "tensors.h"

namespace posenc {

// (batch, heads, time, channels) in elements of `bytes` bytes; channels lie side by side.
struct View {
  char* data;
  Kind kind;
  int64_t bytes;
  int64_t size[4], stride[4];

  int64_t numel() const { return size[0] * size[1] * size[2] * size[3]; }
};

// What `posenc.turn.Pairing.form` packs into one number, of 12 bits a field, beside what calls add to it.
struct Form {
  bool adjacent, time_first, paged;  // time_first: axes of tensors are (batch, time, heads, channels)
  int64_t channels, start, pairs, blocks;
  int64_t heads;  // of tables, where each head turns in its own way; else 0
};
Form form_of(int64_t packed);

View view_of(const Tensor& x, bool time_first);
Heads heads_of(const View& from, const View& to);

// Queries and keys of one batch, time and kind, with the channels of the form.
void check_pair(const View& q, const View& k, const Form& form);

// cosine and sine as a record made them: float32 ([batch or 1,] [heads,] time, pairs).
Turn turn_of(const Tensor& cosine, const Tensor& sine, const Form& form, const View& q, const View& k);

// Whether no number of it lies where another of it does, as far as can be seen: each axis steps over all that smaller ones reach.
bool spread(const View& x);

// Whether one ends in memory before the other begins.
bool beyond(const View& one, const View& other);

// Whether two tensors share no number, as far as can be seen; they may reach into each other's memory.
bool apart(const View& one, const View& other);

// Dense memory, channels side by side and the other axes in the order of x's.
Tensor empty_like(const Tensor& x);

[[noreturn]] void refuse_followed();

// An operator for tensors that nobody follows: tracers and transforms take those that are made to be followed.
template <typename Signature>
struct Followed;
template <typename Result, typename... Given>
struct Followed<Result(Given...)> {
  static Result refused(Given...) { refuse_followed(); }
};

}  // namespace posenc
