// Cosines and sines of many places: each made alone, or, where places rise one by one, by a product of two that are there.
//
// e^{i(p+r)ω} = e^{ipω} · e^{irω} costs a fifth of what `waves_of` does. It is good to 2^-46, and is taken where that settles
// the float32 to which what is made alone would be rounded; where it does not, that is made. So every number has the bits of
// one made alone, however products are rounded: the test is Ziv's (ACM Transactions on Mathematical Software 17, 1991).
#pragma once
#include <cmath>

#include "sixteen.h"
#include "waves.h"

namespace {

constexpr int64_t kLinks = 8;              // times that a row goes on from the one before, until one is made alone again
constexpr int64_t kRun = kLinks * kSteps;  // rows that go back to one

// How far a product may lie from what is made alone, as part of the factor. In units of u = 2^-53, as distances of complex
// numbers of size 1: what is made alone is off by 7. Its angle, at most π/4 from the quarter, is rounded six times at most, which
// is 4.8; its polynomials, cut and rounded, are off by 1.0 in the sine and 1.2 in the cosine, of which all but 0.5 each is in the
// small terms. A product of two brings the errors of both and √5 of its own, or less where it is fused (Brent, Percival and
// Zimmermann, Mathematics of Computation 76, 2007). So a row made alone, times the factor, is off by 8; seven links and the last
// product, by steps made alone, add 9.3 each: 83; what it stands for is off by 8 as well: 91, below 2^7.
constexpr double kMargin = 0x1p-46;
// Where cosine times sine is so large neither is below 2^-10, and the margin is less than `kNear` of the last bits of a double.
constexpr float kSmallest = 0x1.01p-10f;

// One row of what is written.
template <Order order, bool streamed>
struct Row {
  float *cosine, *sine;
  int64_t cosines, sines;

  Row(const Output& out, int64_t row)
      : cosine(out.cosine + row * out.stride), sine(out.sine + row * out.stride), cosines(out.cosines), sines(out.sines) {}

  template <typename V>
  void put(int64_t i, typename V::Single first, typename V::Single second) const {
    if constexpr (V::count == 1) {
      constexpr int64_t apart = order == Order::apart ? 1 : 2;
      if (i < cosines) cosine[apart * i] = first;
      if (i < sines) sine[apart * i] = second;
    } else if constexpr (order == Order::apart) {
      V::template put<streamed>(cosine + i, first);
      V::template put<streamed>(sine + i, second);
    } else if constexpr (order == Order::cosine_first) {
      V::template put_both<streamed>(cosine + 2 * i, first, second);
    } else {
      V::template put_both<streamed>(sine + 2 * i, second, first);
    }
  }

#if defined(__AVX2__)
  void put(int64_t i, const Sixteen& all) const {
    if constexpr (order == Order::apart) {
      put_apart<streamed>(cosine + i, all.cosine);
      put_apart<streamed>(sine + i, all.sine);
    } else if constexpr (order == Order::cosine_first) {
      put_by_turns<streamed>(cosine + 2 * i, all.cosine, all.sine);
    } else {
      put_by_turns<streamed>(sine + 2 * i, all.sine, all.cosine);
    }
  }
#endif

  int64_t whole() const { return cosines < sines ? cosines : sines; }
};

// Pairs `i`, `i + 1`, … of a row, made alone.
template <typename V, typename To>
inline void put_alone(const Angles& angles, const int64_t* place, bool close, int64_t i, const To& to) {
  const Pair<V> pair = alone<V>(angles, place, i, close);
  to.template put<V>(i, V::single(pair.cosine * angles.factor), V::single(pair.sine * angles.factor));
}

template <typename V, typename To>
__attribute__((noinline, cold)) void put_again(const Angles& angles, const int64_t* place, int64_t i, const To& to) {
  put_alone<V>(angles, place, is_near(angles, place), i, to);
}

// Pairs from `begin` to `end` of a row, products of those of a row before and of a step; made alone where one may be rounded
// to another number than that would be.
template <typename To>
inline void put_tested(const Angles& angles, const int64_t* place, const Block& row, const Block& step, int64_t block,
                       int64_t begin, int64_t end, double margin, const To& to) {
  in_lanes(begin, end, to.whole(), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const Pair<V> pair = product<V>(read<V>(row, i - block), read<V>(step, i - block));
    const auto cosine = V::single(pair.cosine - margin), sine = V::single(pair.sine - margin);
    if (V::same(cosine, V::single(pair.cosine + margin), sine, V::single(pair.sine + margin))) [[likely]]
      to.template put<V>(i, cosine, sine);
    else
      put_again<V>(angles, place, i, to);
  });
}

template <typename To>
__attribute__((noinline, cold)) void put_carefully(const Angles& angles, const int64_t* place, const Block& row, const Block& step,
                                              int64_t block, int64_t i, double margin, const To& to) {
  put_tested(angles, place, row, step, block, i, i + 16, margin, to);
}

// Rows of `count` places that rise one by one, from the row `first` of `out` on, of one block of pairs from `begin` to `end`.
template <typename To>
inline void run_of(const Angles& angles, const int64_t* places, int64_t count, int64_t begin, int64_t end, const Output& out,
                   int64_t first) {
  const double margin = kMargin * std::fabs(angles.factor);
  const bool close = is_near(angles, places);
  const Block* steps = angles.steps + begin / kBlock * (kSteps + 1);
  Block from;
  const To top(out, first);
  in_lanes(begin, end, top.whole(), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const Pair<V> pair = alone<V>(angles, places, i, close), scaled{pair.cosine * angles.factor, pair.sine * angles.factor};
    top.template put<V>(i, V::single(scaled.cosine), V::single(scaled.sine));
    write<V>(from, i - begin, scaled);
  });
  for (int64_t row = 1; row < count; ++row) {
    if (row % kSteps == 0)
      in_lanes(begin, end, end, [&](auto lanes, int64_t i) {
        using V = decltype(lanes);
        write<V>(from, i - begin, product<V>(read<V>(from, i - begin), read<V>(steps[kSteps], i - begin)));
      });
    const Block& step = steps[row % kSteps];
    const To to(out, first + row);
    const int64_t* place = places + row * angles.axes;
    int64_t i = begin;
#if defined(__AVX2__)
    const float smallest = kSmallest * static_cast<float>(angles.factor * angles.factor);
    for (const int64_t lines = end < to.whole() ? end : to.whole(); i + kSixteen <= lines; i += kSixteen) {
      const Sixteen all(from, step, i - begin);
      if (all.settled(smallest)) [[likely]]
        to.put(i, all);
      else
        put_carefully(angles, place, from, step, begin, i, margin, to);
    }
#endif
    put_tested(angles, place, from, step, begin, i, end, margin, to);
  }
}

// How many places from the first on, of `count`, rise one by one in every coordinate, none of them too far away.
inline int64_t run_at(const Angles& angles, const int64_t* places, int64_t count) {
  int64_t rows = 1;
  auto goes_on = [&] {
    for (int64_t axis = 0; axis < angles.axes; ++axis) {
      const int64_t here = places[rows * angles.axes + axis];
      if (magnitude(here) > kFarthest || here - 1 != places[(rows - 1) * angles.axes + axis]) return false;
    }
    return true;
  };
  while (rows < count && rows < kRun && goes_on()) ++rows;
  for (int64_t axis = 0; axis < angles.axes; ++axis)
    if (magnitude(places[axis]) > kFarthest) return 1;
  return rows;
}

template <typename To>
inline void waves_to(const Angles& given, const int64_t* places, int64_t count, const Output& where) {
  const Angles angles = given;  // which no store can change
  const Output out = where;
  for (int64_t row = 0, rows; row < count; row += rows, places += rows * angles.axes) {
    rows = angles.steps ? run_at(angles, places, count - row) : 1;
    if (rows > 1) {
      for (int64_t begin = 0; begin < angles.pairs; begin += kBlock) {
        const int64_t end = angles.pairs - begin < kBlock ? angles.pairs : begin + kBlock;
        run_of<To>(angles, places, rows, begin, end, out, row);
      }
      continue;
    }
    const To to(out, row);
    const bool close = is_near(angles, places);
    in_lanes(0, angles.pairs, to.whole(), [&](auto lanes, int64_t i) {
      put_alone<decltype(lanes)>(angles, places, close, i, to);
    });
  }
#if defined(__AVX2__)
  if (out.streamed) _mm_sfence();
#endif
}

template <Order order>
inline void waves_in(const Angles& angles, const int64_t* places, int64_t count, const Output& out) {
  return out.streamed ? waves_to<Row<order, true>>(angles, places, count, out)
                        : waves_to<Row<order, false>>(angles, places, count, out);
}

inline void waves(const Angles& angles, const int64_t* places, int64_t count, const Output& out) {
  switch (out.order) {
    case Order::apart: return waves_in<Order::apart>(angles, places, count, out);
    case Order::cosine_first: return waves_in<Order::cosine_first>(angles, places, count, out);
    case Order::sine_first: return waves_in<Order::sine_first>(angles, places, count, out);
  }
}

inline void steps_of(const Angles& given, Block* steps) {
  Angles angles = given;
  angles.axes = 1;  // every coordinate goes as far
  for (int64_t begin = 0; begin < angles.pairs; begin += kBlock)
    for (int64_t step = 0; step <= kSteps; ++step, ++steps) {
      const int64_t end = angles.pairs - begin < kBlock ? angles.pairs : begin + kBlock;
      in_lanes(begin, end, end, [&](auto lanes, int64_t i) {
        write<decltype(lanes)>(*steps, i - begin, alone<decltype(lanes)>(angles, &step, i, !angles.fine));
      });
    }
}

}  // namespace
