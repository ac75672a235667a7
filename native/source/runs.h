// Cosines and sines of many places: each made alone, or, where places rise one by one, by a product of two that are there.
//
// e^{i(p+r)ω} = e^{ipω} · e^{irω} costs a fifth of what `waves_of` does. It is good to 2^-46, and is taken where that settles
// the float32 to which what is made alone would be rounded; where it does not, that is made. So every number has the bits of
// one made alone, however products are rounded: the test is Ziv's (ACM Transactions on Mathematical Software 17, 1991).
#pragma once
#include <algorithm>
#include <cmath>

#include "sixteen.h"
#include "waves.h"

namespace {

constexpr int64_t kRun = kLeaps * kSteps;  // rows that go back to one which is made alone

// How far a product may lie from what is made alone, as part of the factor. In units of u = 2^-53, as distances of complex
// numbers of size 1: what is made alone is off by 7. Its angle, at most π/4 from the quarter, is rounded six times at most,
// which is 4.8; its polynomials, cut and rounded, are off by 1.0 in the sine and 1.2 in the cosine, half of it in the last sum. A
// product of two brings the errors of both and √5 of its own, or less where it is fused (Brent, Percival and Zimmermann,
// Mathematics of Computation 76, 2007). So a row made alone, times the factor, is off by 8; a leap and a step, made alone, add
// 9.3 each: 26.6; and what it stands for is off by 8 as well: 34.6.
constexpr double kMargin = 36 * 0x1p-53;

// A row of what is written, from the pair `begin` on.
template <Order order, bool streamed>
struct Row {
  // Streams into two tables that lie whole pages apart would wait for each other: sines follow a row later.
  static constexpr bool delays = order == Order::apart && streamed;
  float *cosine, *sine;
  int64_t cosines, sines;

  Row(const Output& out, int64_t row, int64_t begin) {
    const int64_t at = row * out.stride + (order == Order::apart ? begin : 2 * begin);
    cosine = out.cosine + at;
    sine = out.sine + at;
    cosines = out.cosines - begin;
    sines = out.sines - begin;
  }

  template <typename V>
  void put(int64_t i, typename V::Single first, typename V::Single second) const {
    if constexpr (V::count == 1) {
      constexpr int64_t apart = order == Order::apart ? 1 : 2;
      if (i < cosines) cosine[apart * i] = first;
      if (i < sines) sine[apart * i] = second;
    } else if constexpr (order == Order::apart) {
      V::template put<streamed>(cosine + i, first);
      V::template put<streamed && !delays>(sine + i, second);
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
      put_apart<streamed && !delays>(sine + i, all.sine);
    } else if constexpr (order == Order::cosine_first) {
      put_by_turns<streamed>(cosine + 2 * i, all.cosine, all.sine);
    } else {
      put_by_turns<streamed>(sine + 2 * i, all.sine, all.cosine);
    }
  }
#endif

  // Of so many pairs, those of which both are written.
  int64_t whole(int64_t pairs) const { return std::min({pairs, cosines, sines}); }
};

// Sines of the row before, of a block of pairs.
struct alignas(64) Late {
  float sines[kBlock];
  float* to = nullptr;

  void put(int64_t i) const {
#if defined(__AVX2__)
    if (to != nullptr)
      for (int64_t half = i; half < i + 16; half += 8) _mm256_stream_ps(to + half, _mm256_load_ps(sines + half));
#endif
  }
};

// Some pairs of one place: the block that they are of, and what they are products of.
struct Place {
  const Angles& angles;
  const int64_t* place;
  int64_t begin;
};

// Pairs `i`, `i + 1`, … behind `begin`, made alone.
template <typename V, typename To>
inline void put_alone(const Place& at, bool close, int64_t i, const To& to) {
  const Pair<V> pair = alone<V>(at.angles, at.place, at.begin + i, close);
  to.template put<V>(i, V::single(pair.cosine * at.angles.factor), V::single(pair.sine * at.angles.factor));
}

template <typename V, typename To>
__attribute__((noinline, cold)) void put_again(const Place& at, int64_t i, const To& to) {
  put_alone<V>(at, is_near(at.angles, at.place), i, to);
}

// Pairs from `first` to `last` behind `begin`, products of those of a row before and of a step; made alone where one may be
// rounded to another number than that would be.
template <typename To>
inline void put_tested(const Place& at, const Block& row, const Block& step, int64_t first, int64_t last, const To& to) {
  const double margin = kMargin * std::fabs(at.angles.factor);
  in_lanes(first, last, to.whole(last), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const Pair<V> pair = product<V>(read<V>(row, i), read<V>(step, i));
    const auto cosine = V::single(pair.cosine - margin), sine = V::single(pair.sine - margin);
    if (V::same(cosine, V::single(pair.cosine + margin), sine, V::single(pair.sine + margin))) [[likely]]
      to.template put<V>(i, cosine, sine);
    else
      put_again<V>(at, i, to);
  });
}

template <typename To>
__attribute__((noinline, cold)) void put_carefully(const Place& at, const Block& row, const Block& step, int64_t i,
                                                   const To& to) {
  put_tested(at, row, step, i, i + 16, to);
}

// Rows of `count` places that rise one by one, from the row `first` of `out` on, of one block of pairs behind `begin`.
template <typename To>
inline void run_of(const Angles& angles, const int64_t* places, int64_t count, int64_t begin, const Output& out, int64_t first) {
  const int64_t pairs = std::min(kBlock, angles.pairs - begin);
  const Block* steps = angles.steps + begin / kBlock * (kSteps + kLeaps);
  const bool close = is_near(angles, places);
  Block base, from;
  Late late;
  const To top(out, first, begin);
  in_lanes(0, pairs, top.whole(pairs), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const Pair<V> pair = alone<V>(angles, places, begin + i, close);
    const Pair<V> scaled{pair.cosine * angles.factor, pair.sine * angles.factor};
    top.template put<V>(i, V::single(scaled.cosine), V::single(scaled.sine));
    write<V>(base, i, scaled);
    write<V>(from, i, scaled);
  });
  for (int64_t row = 1; row < count; ++row) {
    if (row % kSteps == 0)
      in_lanes(0, pairs, pairs, [&](auto lanes, int64_t i) {
        using V = decltype(lanes);
        write<V>(from, i, product<V>(read<V>(base, i), read<V>(steps[kSteps + row / kSteps], i)));
      });
    const Block& step = steps[row % kSteps];
    const Place at{angles, places + row * angles.axes, begin};
    To to(out, first + row, begin);
    [[maybe_unused]] float* const sines = to.sine;
    if constexpr (To::delays) to.sine = late.sines;
    int64_t i = 0;
#if defined(__AVX2__)
    const float smallest = kSmallest * static_cast<float>(angles.factor * angles.factor);
    for (const int64_t whole = to.whole(pairs); i + kSixteen <= whole; i += kSixteen) {
      if constexpr (To::delays) late.put(i);
      const Sixteen all(from, step, i);
      if (all.settled(smallest)) [[likely]]
        to.put(i, all);
      else
        put_carefully(at, from, step, i, to);
    }
#endif
    put_tested(at, from, step, i, pairs, to);
    if constexpr (To::delays) late.to = sines;
  }
  if constexpr (To::delays)
    for (int64_t i = 0; i < pairs; i += 16) late.put(i);
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
      for (int64_t begin = 0; begin < angles.pairs; begin += kBlock) run_of<To>(angles, places, rows, begin, out, row);
    } else {
      const To to(out, row, 0);
      const bool close = is_near(angles, places);
      in_lanes(0, angles.pairs, to.whole(angles.pairs), [&](auto lanes, int64_t i) {
        put_alone<decltype(lanes)>({angles, places, 0}, close, i, to);
      });
    }
  }
#if defined(__AVX2__)
  if (out.streamed) _mm_sfence();
#endif
}

template <Order order>
inline void waves_in(const Angles& angles, const int64_t* places, int64_t count, const Output& out) {
#if defined(__AVX2__)
  if (out.streamed) return waves_to<Row<order, true>>(angles, places, count, out);
#endif
  waves_to<Row<order, false>>(angles, places, count, out);
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
    for (int64_t index = 0; index < kSteps + kLeaps; ++index, ++steps) {
      const int64_t pairs = std::min(kBlock, angles.pairs - begin);
      const int64_t place = index < kSteps ? index : (index - kSteps) * kSteps;
      in_lanes(0, pairs, pairs, [&](auto lanes, int64_t i) {
        write<decltype(lanes)>(*steps, i, alone<decltype(lanes)>(angles, &place, begin + i, !angles.fine));
      });
    }
}

}  // namespace
