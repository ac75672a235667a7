// Cosines and sines of many positions: each from its angle or, where positions rise one by one, from a product of two
// others.
//
// e^{i(p+r)ω} = e^{ipω} · e^{irω} costs a fifth of what `direct` does. It is good to 2^-46, and is taken where that
// settles the float32 to which the direct value would be rounded; elsewhere the direct value is. So every number has
// the bits of the direct value, however products are rounded: this is Ziv's test (ACM Transactions on Mathematical
// Software 17, 1991).
#pragma once
#include "cos_sin.h"
#include "memory.h"

namespace {

constexpr int64_t kRun = kLargeSteps * kSmallSteps;  // rows that are products of one direct row

// How far a product may be from the direct value, as part of the factor. In units of u = 2^-53, as distances of complex
// numbers of size 1: a direct value is off by 7. Its angle, at most π/4 from the quarter, is rounded six times at most,
// which is 4.8; its polynomials, truncated and rounded, are off by 1.0 in the sine and 1.2 in the cosine, half of it in
// the last sum. A product of two brings the errors of both and √5 of its own, or less where it is fused (Brent,
// Percival and Zimmermann, Mathematics of Computation 76, 2007). So a direct row times the factor is off by 8; a large
// and a small step add 9.3 each: 26.6; and what it stands for is off by 8 as well: 34.6.
constexpr double kMargin = 36 * 0x1p-53;

// Where cosine times sine is at least this, as part of the factor's square, neither is below 2^-11, and the margin is
// less than kNear units in the last place of a double. A float32 leaves out the last 29 bits of a double.
constexpr float kSmallest = 0x1.01p-11f;
constexpr uint32_t kNear = 36u << 11;

// A row of what is written, from the pair `begin` on.
template <Order order, bool streamed>
struct Row {
  // Streams into two tables that are whole pages apart wait for each other: sines follow a row later.
  static constexpr bool delays = order == Order::separate && streamed;
  float *cosine, *sine;
  int64_t cosines, sines;

  Row(const Output& out, int64_t row, int64_t begin) {
    const int64_t at = row * out.stride + (order == Order::separate ? begin : 2 * begin);
    cosine = out.cosine + at;
    sine = out.sine + at;
    cosines = out.cosines - begin;
    sines = out.sines - begin;
  }

  void put(int64_t i, float first, float second) const {
    constexpr int64_t step = order == Order::separate ? 1 : 2;
    if (i < cosines) cosine[step * i] = first;
    if (i < sines) sine[step * i] = second;
  }

  // Vectors of pairs `i`, `i + 1`, …: whole lines one after the other, as parts of lines are streamed slowly.
  template <typename V, int count>
  void put(int64_t i, const V (&first)[count], const V (&second)[count]) const {
    constexpr int lanes = sizeof(V) / sizeof(float);
    if constexpr (order == Order::separate) {
      for (int part = 0; part < count; ++part) write<streamed>(cosine + i + part * lanes, first[part]);
      for (int part = 0; part < count; ++part) write<streamed && !delays>(sine + i + part * lanes, second[part]);
    } else {
      float* to = (order == Order::cosine_first ? cosine : sine) + 2 * i;
      const auto& one = order == Order::cosine_first ? first : second;
      const auto& other = order == Order::cosine_first ? second : first;
      for (int part = 0; part < count; ++part, to += 2 * lanes) {
        write<streamed>(to, shuffle<kByTurns<lanes, 0>>(one[part], other[part]));
        write<streamed>(to + lanes, shuffle<kByTurns<lanes, 1>>(one[part], other[part]));
      }
    }
  }

  template <typename V>
  void put(int64_t i, const CosSin<V>& value) const {
    const typename V::Single cosines[] = {V::single(value.cosine)}, sines[] = {V::single(value.sine)};
    if constexpr (V::count == 1)
      put(i, cosines[0], sines[0]);
    else
      put(i, cosines, sines);
  }

  // How many of so many pairs have both numbers written.
  int64_t whole(int64_t pairs) const {
    const int64_t both = cosines < sines ? cosines : sines;
    return pairs < both ? pairs : both;
  }
};

// Sines of the row before, of a tile.
struct alignas(kLine) DelayedSines {
  float sines[kTile];
  float* to = nullptr;

  void put(int64_t i) const {
    if (to == nullptr) return;
    for (int64_t end = i + kLine / 4; i < end; i += kLanes) write<true>(to + i, read<Floats<kLanes>>(sines + i));
  }
};

// Some pairs at one position, from `begin` on.
struct Place {
  const Angles& angles;
  const int64_t* position;
  int64_t begin;
};

template <typename V, typename To>
inline void put_direct(const Place& at, bool close, int64_t i, const To& to) {
  const CosSin<V> value = direct<V>(at.angles, at.position, at.begin + i, close);
  to.put(i, CosSin<V>{value.cosine * at.angles.factor, value.sine * at.angles.factor});
}

template <typename V, typename To>
__attribute__((noinline, cold)) void replace(const Place& at, int64_t i, const To& to) {
  put_direct<V>(at, is_near(at.angles, at.position), i, to);
}

inline bool same(float a, float b) { return bits_of<uint32_t>(a) == bits_of<uint32_t>(b); }

template <typename V>
inline bool same(V a, V b) {
  typedef Words<sizeof(V) / sizeof(uint32_t)> Bits;
  return !any<sizeof(V) / sizeof(uint32_t)>((Bits)a ^ (Bits)b);
}

// Pairs from `first` to `last`: products of a row and of a step where the margin settles them, else direct values.
template <typename To>
inline void put_tested(const Place& at, const CosSinTile& row, const CosSinTile& step, int64_t first, int64_t last,
                       const To& to) {
  const double margin = kMargin * __builtin_fabs(at.angles.factor);
  for_lanes(first, last, to.whole(last), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const CosSin<V> value = product<V>(read_tile<V>(row, i), read_tile<V>(step, i));
    if (same(V::single(value.cosine - margin), V::single(value.cosine + margin)) &&
        same(V::single(value.sine - margin), V::single(value.sine + margin))) [[likely]]
      to.put(i, value);
    else
      replace<V>(at, i, to);
  });
}

#if defined(__AVX2__)
template <typename V>
inline V smaller(V a, V b) {
  return a < b ? a : b;
}

// Products of as many pairs as fill a line, rounded, and one quick test of all.
struct Products {
  static constexpr int lanes = kLanes, count = kLine / 4 / lanes;
  using Bits = Words<lanes>;
  Floats<lanes> cosine[count], sine[count];
  Bits nearest, least;  // the least distance from a middle, and the least cosine times sine, as the bits of a float32

  __attribute__((always_inline)) Products(const CosSinTile& row, const CosSinTile& step, int64_t i) {
    using V = WideLanes;
    for (int part = 0; part < count; ++part, i += lanes) {
      const auto low = product<V>(read_tile<V>(row, i), read_tile<V>(step, i));
      const auto high = product<V>(read_tile<V>(row, i + V::count), read_tile<V>(step, i + V::count));
      cosine[part] = concatenate(V::single(low.cosine), V::single(high.cosine));
      sine[part] = concatenate(V::single(low.sine), V::single(high.sine));
      const Bits distance = smaller(from_middle(low.cosine, high.cosine), from_middle(low.sine, high.sine));
      const Bits size = (Bits)(cosine[part] * sine[part]) & 0x7fffffffu;
      nearest = part == 0 ? distance : smaller(nearest, distance);
      least = part == 0 ? size : smaller(least, size);
    }
  }

  // Whether none is so near to the middle between two float32, or so small, that the margin itself has to tell.
  bool settled(float smallest) const {
    return !any<lanes>(((nearest - 2 * kNear) | (least - bits_of<uint32_t>(smallest))) & 0x80000000u);
  }

 private:
  // Of the 29 bits that a float32 leaves out, how far they are above the middle less kNear.
  static Bits from_middle(WideLanes::Real low, WideLanes::Real high) {
    const auto left_out = (Bits)shuffle<kEveryWithin<lanes, 0>>((Floats<lanes>)low, (Floats<lanes>)high);
    return (left_out + (kNear - (1u << 28))) & ((1u << 29) - 1);
  }
};

template <typename To>
__attribute__((noinline, cold)) void put_carefully(const Place& at, const CosSinTile& row, const CosSinTile& step,
                                                   int64_t i, const To& to) {
  put_tested(at, row, step, i, i + kLine / 4, to);
}
#endif

// One row of a tile: products of a row and of a step.
template <typename To>
inline void put_products(const Place& at, const CosSinTile& row, const CosSinTile& step, int64_t pairs, const To& to,
                         [[maybe_unused]] const DelayedSines& before) {
  int64_t i = 0;
#if defined(__AVX2__)
  const float smallest = kSmallest * static_cast<float>(at.angles.factor * at.angles.factor);
  for (const int64_t whole = to.whole(pairs); i + kLine / 4 <= whole; i += kLine / 4) {
    if constexpr (To::delays) before.put(i);
    const Products products(row, step, i);
    if (products.settled(smallest)) [[likely]]
      to.put(i, products.cosine, products.sine);
    else
      put_carefully(at, row, step, i, to);
  }
#endif
  put_tested(at, row, step, i, pairs, to);
}

// `count` positions that rise one by one, into the rows from `first` on: the tile from the pair `begin` on.
template <typename To>
inline void put_run(const Angles& angles, const int64_t* positions, int64_t count, int64_t begin, const Output& out,
                    int64_t first) {
  const int64_t pairs = angles.pairs - begin < kTile ? angles.pairs - begin : kTile;
  const CosSinTile *small = angles.steps + begin / kTile * (kSmallSteps + kLargeSteps), *large = small + kSmallSteps;
  const bool close = is_near(angles, positions);
  CosSinTile base, from;
  DelayedSines delayed;
  const To top(out, first, begin);
  for_lanes(0, pairs, top.whole(pairs), [&](auto lanes, int64_t i) {
    using V = decltype(lanes);
    const CosSin<V> value = direct<V>(angles, positions, begin + i, close);
    const CosSin<V> scaled{value.cosine * angles.factor, value.sine * angles.factor};
    top.put(i, scaled);
    write_tile<V>(base, i, scaled);
    write_tile<V>(from, i, scaled);
  });
  for (int64_t row = 1; row < count; ++row) {
    if (row % kSmallSteps == 0)
      for_lanes(0, pairs, pairs, [&](auto lanes, int64_t i) {
        using V = decltype(lanes);
        write_tile<V>(from, i, product<V>(read_tile<V>(base, i), read_tile<V>(large[row / kSmallSteps], i)));
      });
    To to(out, first + row, begin);
    float* const sines = to.sine;
    if constexpr (To::delays) to.sine = delayed.sines;
    put_products<To>({angles, positions + row * angles.axes, begin}, from, small[row % kSmallSteps], pairs, to,
                     delayed);
    if constexpr (To::delays) delayed.to = sines;
  }
  if constexpr (To::delays)
    for (int64_t i = 0; i < pairs; i += kLine / 4) delayed.put(i);
}

// How many positions from the first on, of `count`, rise one by one in every coordinate, none of them too far away.
inline int64_t length_of_run(const Angles& angles, const int64_t* positions, int64_t count) {
  for (int64_t axis = 0; axis < angles.axes; ++axis)
    if (magnitude(positions[axis]) > kFarthest) return 1;
  for (int64_t row = 1; row < count && row < kRun; ++row)
    for (int64_t axis = 0; axis < angles.axes; ++axis) {
      const int64_t here = positions[row * angles.axes + axis];
      if (magnitude(here) > kFarthest || here - 1 != positions[(row - 1) * angles.axes + axis]) return row;
    }
  return count < kRun ? count : kRun;
}

template <typename To>
inline void put_rows(const Angles& given, const int64_t* positions, int64_t count, const Output& where) {
  const Angles angles = given;  // copies, which no store can change
  const Output out = where;
  for (int64_t row = 0, rows; row < count; row += rows, positions += rows * angles.axes) {
    rows = angles.steps ? length_of_run(angles, positions, count - row) : 1;
    if (rows > 1) {
      for (int64_t begin = 0; begin < angles.pairs; begin += kTile)
        put_run<To>(angles, positions, rows, begin, out, row);
    } else {
      const To to(out, row, 0);
      const bool close = is_near(angles, positions);
      for_lanes(0, angles.pairs, to.whole(angles.pairs),
                [&](auto lanes, int64_t i) { put_direct<decltype(lanes)>({angles, positions, 0}, close, i, to); });
    }
  }
  if (out.streamed) finish_streams();
}

template <Order order>
inline void put_rows(const Angles& angles, const int64_t* positions, int64_t count, const Output& out) {
  if (WideLanes::count > 1 && out.streamed) return put_rows<Row<order, true>>(angles, positions, count, out);
  put_rows<Row<order, false>>(angles, positions, count, out);
}

inline void cos_sin_rows(const Angles& angles, const int64_t* positions, int64_t count, const Output& out) {
  switch (out.order) {
    case Order::separate: return put_rows<Order::separate>(angles, positions, count, out);
    case Order::cosine_first: return put_rows<Order::cosine_first>(angles, positions, count, out);
    case Order::sine_first: return put_rows<Order::sine_first>(angles, positions, count, out);
  }
}

// The tiles of small and large steps, for runs.
inline void step_tiles(const Angles& given, CosSinTile* tile) {
  Angles angles = given;
  angles.axes = 1;  // every coordinate rises alike
  for (int64_t begin = 0; begin < angles.pairs; begin += kTile)
    for (int64_t index = 0; index < kSmallSteps + kLargeSteps; ++index, ++tile) {
      const int64_t pairs = angles.pairs - begin < kTile ? angles.pairs - begin : kTile;
      const int64_t position = index < kSmallSteps ? index : (index - kSmallSteps) * kSmallSteps;
      for_lanes(0, pairs, pairs, [&](auto lanes, int64_t i) {
        write_tile(*tile, i, direct<decltype(lanes)>(angles, &position, begin + i, !angles.tiny));
      });
    }
}

}  // namespace
