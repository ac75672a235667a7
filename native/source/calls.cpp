// Operators that take queries, keys and tables as their owner has them, and look at all of it before they write: one call
// turns a token. What does not fit is an error here, and Python says with more words what is wrong.
#include <torch/csrc/stable/library.h>
#include <torch/headeronly/util/Exception.h>

#include <tuple>

#include "view.h"

namespace {

using namespace posenc;

struct Pair {
  Form form;
  View q, k;

  Pair(const Tensor& first, const Tensor& second, int64_t packed)
      : form(form_of(packed)), q(view_of(first, form.time_first)), k(view_of(second, form.time_first)) {}

  void check_written() const {
    STD_TORCH_CHECK(spread(q) && spread(k) && apart(q, k), "q and k must not overlap themselves or each other");
  }
};

void turn_by(const Pair& from, const Pair& to, const Tensor& cosine, const Tensor& sine) {
  const Turn turn = turn_of(cosine, sine, from.form, from.q, from.k);
  turn_all(heads_of(from.q, to.q), turn, heads_of(from.k, to.k), turn, from.q.kind, from.q.size[0], from.q.size[2], best_level());
}

void rotate_(const Tensor& q, const Tensor& k, const Tensor& cosine, const Tensor& sine, int64_t form) {
  const Pair pair(q, k, form);
  pair.check_written();
  turn_by(pair, pair, cosine, sine);
}

std::tuple<Tensor, Tensor> rotate(const Tensor& q, const Tensor& k, const Tensor& cosine, const Tensor& sine, int64_t form) {
  const Pair from(q, k, form);
  Tensor to_q = empty_like(q), to_k = empty_like(k);
  turn_by(from, Pair(to_q, to_k, form), cosine, sine);
  return {to_q, to_k};
}

void turn_by(const Pair& from, const Pair& to, const Tensor& places, const Tensor& rates, double factor) {
  const Form& form = from.form;
  check_pair(from.q, from.k, form);
  STD_TORCH_CHECK(form.heads == 0 && rates.size(1) == form.pairs, "rates must have the pairs of the form");
  turn_all(heads_of(from.q, to.q), heads_of(from.k, to.k), from.q.kind, from.q.size[0], from.q.size[2], form.channels, places, rates,
           factor, form.start, form.blocks, form.adjacent, false);
}

void rotate_by_angles_(const Tensor& q, const Tensor& k, const Tensor& places, const Tensor& rates, double factor, int64_t form) {
  const Pair pair(q, k, form);
  pair.check_written();
  turn_by(pair, pair, places, rates, factor);
}

std::tuple<Tensor, Tensor> rotate_by_angles(const Tensor& q, const Tensor& k, const Tensor& places, const Tensor& rates, double factor,
                                            int64_t form) {
  const Pair from(q, k, form);
  Tensor to_q = empty_like(q), to_k = empty_like(k);
  turn_by(from, Pair(to_q, to_k, form), places, rates, factor);
  return {to_q, to_k};
}

#define REFUSED(name) library.impl(#name, TORCH_BOX(&Followed<decltype(name)>::refused))

void refuse_all(torch::stable::detail::StableLibrary& library) {
  REFUSED(rotate_);
  REFUSED(rotate);
  REFUSED(rotate_by_angles_);
  REFUSED(rotate_by_angles);
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(posenc, library) {
  library.def("rotate_(Tensor(a!) q, Tensor(b!) k, Tensor cosine, Tensor sine, int form) -> ()");
  library.def("rotate(Tensor q, Tensor k, Tensor cosine, Tensor sine, int form) -> (Tensor, Tensor)");
  library.def("rotate_by_angles_(Tensor(a!) q, Tensor(b!) k, Tensor places, Tensor rates, float factor, int form) -> ()");
  library.def("rotate_by_angles(Tensor q, Tensor k, Tensor places, Tensor rates, float factor, int form) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(posenc, CPU, library) {
  library.impl("rotate_", TORCH_BOX(&rotate_));
  library.impl("rotate", TORCH_BOX(&rotate));
  library.impl("rotate_by_angles_", TORCH_BOX(&rotate_by_angles_));
  library.impl("rotate_by_angles", TORCH_BOX(&rotate_by_angles));
}

STABLE_TORCH_LIBRARY_IMPL(posenc, Python, library) { refuse_all(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, FuncTorchDynamicLayerFrontMode, library) { refuse_all(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, Negative, library) { refuse_all(library); }
STABLE_TORCH_LIBRARY_IMPL(posenc, Tracer, library) { refuse_all(library); }
