// Operators that rotate by a table of cosines and sines.
//
// `rotate_one` is for autograd and tracers, which Python tells of it. The operators called untraced rotate queries and
// keys in one call, as decoding does for every layer: they take tensors and tables in whatever layout, check them, and
// refuse tensors that a tracer, a transform or a mode follows.
#include <torch/csrc/stable/library.h>

#include <tuple>

#include "tensors.h"

namespace {

using namespace posenc;

struct Table {
  const Rotation& whole;
  const Rotation& rotation(int64_t, int64_t, int64_t) const { return whole; }
};

void rotate_by_table(const Heads& queries, const Heads& keys, const View& q, const Rotation& rotation,
                     const InstructionSet& set) {
  rotate_pieces(queries, keys, q, set, [&] { return Table{rotation}; });
}

// x, to: (batch, heads, time, channels); cosine, sine: (batch or 1, heads or 1, time, pairs).
void rotate_into(const Tensor& x, const Tensor& to, const Tensor& cosine, const Tensor& sine, const Channels& channels,
                 bool inverse, const InstructionSet& set) {
  const View from = view_of(x);
  const Rotation rotation = rotation_of(cosine, sine, true, from, from, channels, inverse);
  rotate_by_table(heads_of(from, view_of(to)), {}, from, rotation, set);
}

Tensor rotate_one(const Tensor& x, const Tensor& cosine, const Tensor& sine, int64_t start, int64_t blocks,
                  bool adjacent, bool inverse, std::string set) {
  Tensor to = torch::stable::empty_like(x);
  rotate_into(x, to, cosine, sine, {start, blocks, adjacent}, inverse, instruction_set(set));
  return to;
}

void rotate_one_(const Tensor& x, const Tensor& cosine, const Tensor& sine, int64_t start, int64_t blocks,
                 bool adjacent, bool inverse) {
  rotate_into(x, x, cosine, sine, {start, blocks, adjacent}, inverse, instruction_set());
}

void rotate_into(const Untraced& from, const Untraced& to, const Tensor& cosine, const Tensor& sine) {
  rotate_by_table(heads_of(from.q, to.q), heads_of(from.k, to.k), from.q, from.rotation_by(cosine, sine),
                  instruction_set());
}

void rotate_untraced_(const Tensor& q, const Tensor& k, const Tensor& cosine, const Tensor& sine, int64_t form) {
  const Untraced both(q, k, Form(form));
  both.check_writable();
  rotate_into(both, both, cosine, sine);
}

std::tuple<Tensor, Tensor> rotate_untraced(const Tensor& q, const Tensor& k, const Tensor& cosine, const Tensor& sine,
                                           int64_t form) {
  const Untraced from(q, k, Form(form));
  Tensor to_q = new_like(q), to_k = new_like(k);
  rotate_into(from, Untraced(to_q, to_k, from.form), cosine, sine);
  return {to_q, to_k};
}

void refuse(torch::stable::detail::StableLibrary& library) {
  POSENC_REFUSE(library, rotate_untraced_);
  POSENC_REFUSE(library, rotate_untraced);
}

std::vector<std::string> instruction_set_names() {
  std::vector<std::string> names;
  for (const InstructionSet* set : instruction_sets()) names.push_back(set->name);
  return names;
}

}  // namespace

STABLE_TORCH_LIBRARY(posenc, library) {
  library.def(
      "rotate_one(Tensor x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse, "
      "str instruction_set='') -> Tensor");
  library.def(
      "rotate_one_(Tensor(a!) x, Tensor cosine, Tensor sine, int start, int blocks, bool adjacent, bool inverse) -> "
      "()");
  library.def("rotate_untraced(Tensor q, Tensor k, Tensor cosine, Tensor sine, int form) -> (Tensor, Tensor)");
  library.def("rotate_untraced_(Tensor(a!) q, Tensor(b!) k, Tensor cosine, Tensor sine, int form) -> ()");
  library.def("instruction_sets() -> str[]");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("rotate_one", TORCH_BOX(&rotate_one));
  library.impl("rotate_one_", TORCH_BOX(&rotate_one_));
  library.impl("rotate_untraced", TORCH_BOX(&rotate_untraced));
  library.impl("rotate_untraced_", TORCH_BOX(&rotate_untraced_));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CompositeExplicitAutograd, library) {
  library.impl("instruction_sets", TORCH_BOX(&instruction_set_names));
}

POSENC_REFUSE_TRACED(refuse)
