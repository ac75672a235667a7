#include "view.h"

#include <torch/headeronly/util/Exception.h>

#include <algorithm>

namespace posenc {

using Scalar = torch::headeronly::ScalarType;

namespace {

// An axis that two tensors have in common, with the places of each.
struct Axis {
  int64_t stride, one, other;
};

void sort_down(Axis (&axes)[4]) {
  std::sort(axes, axes + 4, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
}

int64_t reach(const Axis* axis, const Axis* end) {
  int64_t one = 0, other = 0;
  for (; axis != end; ++axis) one += (axis->one - 1) * axis->stride, other += (axis->other - 1) * axis->stride;
  return std::max(one, other);
}

// Whether steps along axes, the largest stride first, lead from the one to the other, which begins so many numbers behind.
// Strides must each reach over all that the smaller ones do; else the answer is yes.
bool meet(const Axis* axis, const Axis* end, int64_t behind) {
  if (axis == end) return behind == 0;
  if (axis->one == 1 && axis->other == 1) return meet(axis + 1, end, behind);
  if (reach(axis + 1, end) >= axis->stride) return true;
  const int64_t below = behind / axis->stride - (behind % axis->stride < 0);
  for (int64_t steps : {below, below + 1})
    if (-axis->other < steps && steps < axis->one && meet(axis + 1, end, behind - steps * axis->stride)) return true;
  return false;
}

// Bytes from the first number of a tensor to behind its last.
int64_t extent(const View& x) {
  int64_t last = 0;
  for (int axis = 0; axis < 4; ++axis) last += (x.size[axis] - 1) * x.stride[axis];
  return (last + 1) * x.bytes;
}

bool is_table(const Tensor& x, int64_t axes) {
  return x.is_cpu() && x.scalar_type() == Scalar::Float && x.dim() == axes;
}

}  // namespace

void refuse_followed() { STD_TORCH_CHECK(false, "tensors must be followed by no tracer and no transform"); }

Form form_of(int64_t packed) {
  STD_TORCH_CHECK(packed >= 0, "form must have fields that fit in 12 bits each");
  auto field = [&](int number) { return packed >> (3 + 12 * number) & 0xfff; };
  return {bool(packed & 1), bool(packed & 2), bool(packed & 4), field(0), field(1), field(2), field(3), field(4)};
}

View view_of(const Tensor& x, bool time_first) {
  STD_TORCH_CHECK(x.dim() == 4 && x.is_cpu(), "a tensor must have four axes, on the CPU");
  const auto sizes = x.sizes(), strides = x.strides();
  const int heads = time_first ? 2 : 1, time = time_first ? 1 : 2;
  const Kind kind = kind_of(x);
  STD_TORCH_CHECK(strides[3] == 1, "channels must lie side by side");
  return {static_cast<char*>(x.data_ptr()),
          kind,
          kind == Kind::float32 ? 4 : 2,
          {sizes[0], sizes[heads], sizes[time], sizes[3]},
          {strides[0], strides[heads], strides[time], strides[3]}};
}

Heads heads_of(const View& from, const View& to) {
  return {from.data, to.data, from.size[1], from.stride[0], from.stride[1], from.stride[2], to.stride[0], to.stride[1], to.stride[2]};
}

void check_pair(const View& q, const View& k, const Form& form) {
  STD_TORCH_CHECK(q.kind == k.kind && q.size[0] == k.size[0] && q.size[2] == k.size[2], "k must have the dtype, batch and time of q");
  STD_TORCH_CHECK(q.size[3] == form.channels && k.size[3] == form.channels, "q and k must have the channels of the form");
  STD_TORCH_CHECK(form.heads == 0 || (q.size[1] == form.heads && k.size[1] == form.heads), "q and k must have the heads of the form");
  STD_TORCH_CHECK(form.pairs >= 1 && form.blocks >= 1 && form.pairs % form.blocks == 0 && form.start + 2 * form.pairs <= form.channels,
                  "pairs must lie within the channels");
}

Turn turn_of(const Tensor& cosine, const Tensor& sine, const Form& form, const View& q, const View& k) {
  check_pair(q, k, form);
  const int64_t axes = cosine.dim(), own = form.heads != 0, time = axes - 2, rows = axes - 3 - own;
  STD_TORCH_CHECK(rows == -1 || rows == 0, "cosine must be (batch or 1, heads, time, pairs), its first axes left out where they are not");
  STD_TORCH_CHECK(is_table(cosine, axes) && is_table(sine, axes), "cosine and sine must be float32 on the CPU, of as many axes");
  const auto sizes = cosine.sizes(), strides = cosine.strides();
  for (int64_t axis = 0; axis < axes; ++axis)
    STD_TORCH_CHECK(sine.sizes()[axis] == sizes[axis] && sine.strides()[axis] == strides[axis], "cosine and sine must be alike");
  STD_TORCH_CHECK(sizes[time + 1] == form.pairs && strides[time + 1] == 1, "cosine must have the pairs of the form, side by side");
  STD_TORCH_CHECK(sizes[time] == q.size[2] && (!own || sizes[time - 1] == form.heads), "cosine must have the places and heads of q");
  const bool shared = rows < 0 || sizes[0] == 1;
  STD_TORCH_CHECK(shared || sizes[0] == q.size[0], "cosine must have the batch of q, or one row for all");
  return {static_cast<const float*>(cosine.data_ptr()), static_cast<const float*>(sine.data_ptr()), shared ? 0 : strides[0],
          own ? strides[time - 1] : 0, strides[time], form.channels, form.start, form.blocks, form.pairs / form.blocks,
          form.adjacent, false};
}

bool spread(const View& x) {
  Axis axes[4];
  for (int axis = 0; axis < 4; ++axis) axes[axis] = {x.stride[axis], x.size[axis], x.size[axis]};
  sort_down(axes);
  for (const Axis* axis = axes; axis != axes + 4; ++axis)
    if (axis->one > 1 && reach(axis + 1, axes + 4) >= axis->stride) return false;
  return true;
}

bool beyond(const View& one, const View& other) {
  if (one.numel() == 0 || other.numel() == 0) return true;
  return one.data + extent(one) <= other.data || other.data + extent(other) <= one.data;
}

bool apart(const View& one, const View& other) {
  if (beyond(one, other)) return true;
  const int64_t bytes = other.data - one.data;
  if (one.bytes != other.bytes || bytes % one.bytes) return false;
  Axis axes[4];
  for (int axis = 0; axis < 4; ++axis) {
    const bool many = one.size[axis] > 1;
    if (many && other.size[axis] > 1 && one.stride[axis] != other.stride[axis]) return false;
    axes[axis] = {many ? one.stride[axis] : other.stride[axis], one.size[axis], other.size[axis]};
  }
  sort_down(axes);
  return !meet(axes, axes + 4, bytes / one.bytes);
}

Tensor empty_like(const Tensor& x) {
  const auto sizes = x.sizes(), strides = x.strides();
  int64_t order[4] = {3, 2, 1, 0}, dense[4], step = 1;
  std::stable_sort(order + 1, order + 4, [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  for (int64_t axis : order) {
    dense[axis] = step;
    step *= std::max<int64_t>(1, sizes[axis]);
  }
  int32_t dtype;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &dtype));
  AtenTensorHandle made;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(4, sizes.data(), dense, dtype, aoti_torch_device_type_cpu(), 0, &made));
  return Tensor(made);
}

}  // namespace posenc
