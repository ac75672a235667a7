#include "tensors.h"

#include <torch/headeronly/util/Exception.h>

namespace posenc {

using Scalar = torch::headeronly::ScalarType;

namespace {

// An axis of two tensors: its stride, and the size of each.
struct Axis {
  int64_t stride, one, other;
};

// The axes of both, the largest stride first.
struct Axes {
  Axis list[4];

  Axes(const View& one, const View& other) {
    for (int axis = 0; axis < 4; ++axis)
      list[axis] = {one.size[axis] > 1 ? one.stride[axis] : other.stride[axis], one.size[axis], other.size[axis]};
    std::sort(list, list + 4, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  }
  const Axis* begin() const { return list; }
  const Axis* end() const { return list + 4; }
};

// From the first element of either to its last, along these axes.
int64_t reach(const Axis* axis, const Axis* end) {
  int64_t one = 0, other = 0;
  for (; axis != end; ++axis) one += (axis->one - 1) * axis->stride, other += (axis->other - 1) * axis->stride;
  return std::max(one, other);
}

// Whether steps along the axes lead from the one tensor to the other, which begins so many elements behind it. True
// unless each axis steps over all that smaller ones reach.
bool meet(const Axis* axis, const Axis* end, int64_t behind) {
  if (axis == end) return behind == 0;
  if (axis->one == 1 && axis->other == 1) return meet(axis + 1, end, behind);
  if (reach(axis + 1, end) >= axis->stride) return true;
  const int64_t below = behind / axis->stride - (behind % axis->stride < 0);
  for (int64_t steps : {below, below + 1})
    if (-axis->other < steps && steps < axis->one && meet(axis + 1, end, behind - steps * axis->stride)) return true;
  return false;
}

// Bytes from the first element to behind the last.
int64_t extent(const View& x) {
  const Axes axes(x, x);
  return (reach(axes.begin(), axes.end()) + 1) * x.element;
}

bool is_float32(const Tensor& x) { return x.is_cpu() && x.scalar_type() == Scalar::Float; }

}  // namespace

void refuse_traced() { STD_TORCH_CHECK(false, "tensors must be followed by no tracer and no transform"); }

DType dtype_of(const Tensor& x) {
  switch (x.scalar_type()) {
    case Scalar::Float: return DType::float32;
    case Scalar::BFloat16: return DType::bfloat16;
    case Scalar::Half: return DType::float16;
    default: STD_TORCH_CHECK(false, "x must be float32, bfloat16 or float16");
  }
}

View view_of(const Tensor& x, bool time_first) {
  STD_TORCH_CHECK(x.dim() == 4 && x.is_cpu(), "x must have four axes, on the CPU");
  const auto sizes = x.sizes(), strides = x.strides();
  const int heads = time_first ? 2 : 1, time = time_first ? 1 : 2;
  const DType dtype = dtype_of(x);
  STD_TORCH_CHECK(strides[3] == 1, "x must have contiguous channels");
  return {static_cast<char*>(x.data_ptr()),
          dtype,
          size_of(dtype),
          {sizes[0], sizes[heads], sizes[time], sizes[3]},
          {strides[0], strides[heads], strides[time], strides[3]}};
}

Heads heads_of(const View& from, const View& to) {
  return {from.data,      to.data,      from.size[1], from.stride[0], from.stride[1],
          from.stride[2], to.stride[0], to.stride[1], to.stride[2]};
}

void check_pair(const View& q, const View& k, const Channels& channels, int64_t pairs) {
  STD_TORCH_CHECK(k.dtype == q.dtype && k.size[0] == q.size[0] && k.size[2] == q.size[2] && k.size[3] == q.size[3],
                  "k must have the dtype, batch, time and channels of q");
  const int64_t start = channels.start, blocks = channels.blocks;
  STD_TORCH_CHECK(pairs >= 1 && blocks >= 1 && pairs % blocks == 0 && start >= 0 && start <= q.size[3] &&
                      pairs <= (q.size[3] - start) / 2,
                  "pairs must be within the channels");
}

Form::Form(int64_t packed) {
  STD_TORCH_CHECK(packed >= 0, "form must have fields of 12 bits each");
  auto field = [&](int number) { return packed >> (3 + 12 * number) & 0xfff; };
  adjacent = packed & 1, time_first = packed & 2, paged = packed & 4;
  dim = field(0), start = field(1), pairs = field(2), blocks = field(3), heads = field(4);
}

Untraced::Untraced(const Tensor& queries, const Tensor& keys, const Form& form)
    : form(form), q(view_of(queries, form.time_first)), k(view_of(keys, form.time_first)) {
  check_pair(q, k, form, form.pairs);
  STD_TORCH_CHECK(q.size[3] == form.dim, "q and k must have the channels of the form");
  STD_TORCH_CHECK(form.heads == 0 || (q.size[1] == form.heads && k.size[1] == form.heads),
                  "q and k must have the heads of the form");
}

void Untraced::check_writable() const {
  STD_TORCH_CHECK(!self_overlapping(q) && !self_overlapping(k) && disjoint(q, k),
                  "q and k must not overlap themselves or each other");
}

Rotation rotation_of(const Tensor& cosine, const Tensor& sine, bool heads, const View& q, const View& k,
             const Channels& channels, bool inverse) {
  const int64_t axes = cosine.dim();
  STD_TORCH_CHECK(
      (axes == 2 + heads || axes == 3 + heads) && is_float32(cosine) && is_float32(sine) && sine.dim() == axes,
      "cosine and sine must be float32 ([batch,] [heads,] time, pairs) on the CPU");
  const auto sizes = cosine.sizes(), strides = cosine.strides();
  for (int64_t axis = 0; axis < axes; ++axis)
    STD_TORCH_CHECK(sine.sizes()[axis] == sizes[axis] && sine.strides()[axis] == strides[axis],
                    "cosine and sine must have the same shape and strides");
  const int64_t time = axes - 2, pairs = sizes[time + 1];
  const int64_t head_axis = heads ? time - 1 : -1, batch_axis = axes == 3 + heads ? 0 : -1;
  auto size = [&](int64_t axis) { return axis < 0 ? 1 : sizes[axis]; };
  auto stride = [&](int64_t axis) { return size(axis) == 1 ? 0 : strides[axis]; };
  check_pair(q, k, channels, pairs);
  STD_TORCH_CHECK(strides[time + 1] == 1 && sizes[time] == q.size[2],
                  "cosine must have a row of contiguous pairs for each token of q");
  STD_TORCH_CHECK(size(batch_axis) == 1 || size(batch_axis) == q.size[0],
                  "cosine must have the batch of q, or one row for all");
  STD_TORCH_CHECK(size(head_axis) == 1 || (size(head_axis) == q.size[1] && size(head_axis) == k.size[1]),
                  "cosine must have the heads of q and of k, or one for all");
  return {static_cast<const float*>(cosine.data_ptr()),
          static_cast<const float*>(sine.data_ptr()),
          stride(batch_axis),
          stride(head_axis),
          strides[time],
          q.size[3],
          channels.start,
          channels.blocks,
          pairs / channels.blocks,
          channels.adjacent,
          inverse};
}

Rotation Untraced::rotation_by(const Tensor& cosine, const Tensor& sine) const {
  const Rotation rotation = rotation_of(cosine, sine, form.heads != 0, q, k, form, false);
  STD_TORCH_CHECK(rotation.half * rotation.blocks == form.pairs, "cosine must have the pairs of the form");
  return rotation;
}

bool self_overlapping(const View& x) {
  const Axes axes(x, x);
  for (const Axis* axis = axes.begin(); axis != axes.end(); ++axis)
    if (axis->one > 1 && reach(axis + 1, axes.end()) >= axis->stride) return true;
  return false;
}

bool separate(const View& one, const View& other) {
  if (one.numel() == 0 || other.numel() == 0) return true;
  return one.data + extent(one) <= other.data || other.data + extent(other) <= one.data;
}

bool disjoint(const View& one, const View& other) {
  if (separate(one, other)) return true;
  const int64_t bytes = other.data - one.data;
  if (one.element != other.element || bytes % one.element) return false;
  for (int axis = 0; axis < 4; ++axis)
    if (one.size[axis] > 1 && other.size[axis] > 1 && one.stride[axis] != other.stride[axis]) return false;
  const Axes axes(one, other);
  return !meet(axes.begin(), axes.end(), bytes / one.element);
}

Tensor new_like(const Tensor& x) {
  const auto sizes = x.sizes(), strides = x.strides();
  int64_t order[4] = {3, 2, 1, 0}, contiguous[4], step = 1;
  std::stable_sort(order + 1, order + 4, [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  for (int64_t axis : order) {
    contiguous[axis] = step;
    step *= std::max<int64_t>(1, sizes[axis]);
  }
  int32_t dtype;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &dtype));
  AtenTensorHandle result;
  STABLE_TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(4, sizes.data(), contiguous, dtype, aoti_torch_device_type_cpu(), 0, &result));
  return Tensor(result);
}

}  // namespace posenc
