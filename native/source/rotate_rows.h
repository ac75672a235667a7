// The loops that rotate queries or keys, compiled once for each instruction set.
//
// Pairs of channels are rotated in groups as wide as a vector. Cosines and sines are laid out once for all heads of a
// token, or for some tokens of all heads, in the order in which groups read them: N cosines, N sines. Products and sums
// are written one by one and never fused, so every instruction set gives the bits of the reference.
#pragma once
#include "instruction_set.h"
#include "memory.h"
#include "vectors.h"

namespace {

using namespace posenc;

template <int N>
struct Pairs {
  Floats<N> first, second;
};

template <int N>
inline Pairs<N> rotate(Floats<N> a, Floats<N> b, const float* table) {
  const auto c = read<Floats<N>>(table), s = read<Floats<N>>(table + N);
  return {a * c - b * s, a * s + b * c};
}

// A group of pairs, (x[i], x[i + apart]) or (x[2i], x[2i + 1]): how its table is laid out, and how it is rotated.
template <typename T, bool adjacent, int N>
struct Group {
  static constexpr int64_t lanes = N, pairs = N;

  static void lay_out(const float* from, float factor, float* table) {
    auto value = read<Floats<N>>(from) * factor;
    if constexpr (adjacent) value = shuffle<kWithin<N>>(value, value);
    write<false>(table, value);
  }

  template <bool streamed>
  static void rotate_group(const T* x, T* to, int64_t apart, const float* table) {
    if constexpr (adjacent) {
      const auto low = load<N>(x), high = load<N>(x + N);
      const auto result =
          rotate<N>(shuffle<kEveryWithin<N, 0>>(low, high), shuffle<kEveryWithin<N, 1>>(low, high), table);
      store<streamed, N>(to, shuffle<kByTurnsWithin<N, 0>>(result.first, result.second));
      store<streamed, N>(to + N, shuffle<kByTurnsWithin<N, 1>>(result.first, result.second));
    } else {
      const auto result = rotate<N>(load<N>(x), load<N>(x + apart), table);
      store<streamed, N>(to, result.first);
      store<streamed, N>(to + apart, result.second);
    }
  }
};

// In bfloat16 a word holds two numbers: a pair of neighbours, or two first or two second channels of pairs.
template <bool adjacent, int N>
struct Group<BFloat16, adjacent, N> {
  static constexpr int64_t lanes = N, pairs = adjacent ? N : 2 * N;

  // A NaN of the table loses its lower half. Then no result has one, as the other NaN, those of x and those that the
  // processor makes of infinities, have none.
  static void lay_out(const float* from, float factor, float* table) {
    const auto low = short_nan<N>(read<Floats<N>>(from) * factor);
    if constexpr (adjacent) return write<false>(table, low);
    const auto high = short_nan<N>(read<Floats<N>>(from + pairs - N) * factor);
    write<false>(table, shuffle<kEvery<N, 0>>(low, high));
    write<false>(table + 2 * N, shuffle<kEvery<N, 1>>(low, high));
  }

  template <bool streamed>
  static void rotate_group(const BFloat16* x, BFloat16* to, int64_t apart, const float* table) {
    const auto a = read<Words<N>>(x);
    if constexpr (adjacent) {
      const auto result = rotate<N>(even<N>(a), odd<N>(a), table);
      write<streamed>(to, round_to_bfloat16<N>(result.first, result.second));
    } else {
      const auto b = read<Words<N>>(x + apart);
      const auto evens = rotate<N>(even<N>(a), even<N>(b), table),
                 odds = rotate<N>(odd<N>(a), odd<N>(b), table + 2 * N);
      write<streamed>(to, round_to_bfloat16<N>(evens.first, odds.first));
      write<streamed>(to + apart, round_to_bfloat16<N>(evens.second, odds.second));
    }
  }
};

// Calls `each` with groups and the first pair of each, the widest groups first; the number of pairs that these are.
template <typename T, bool adjacent, int N = kLanes, typename Each>
__attribute__((always_inline)) inline int64_t for_groups(int64_t pairs, Each each, int64_t i = 0) {
  using Widest = Group<T, adjacent, N>;
  for (; i + Widest::pairs <= pairs; i += Widest::pairs) each(Widest{}, i);
  if constexpr (N > 4) return for_groups<T, adjacent, N / 2>(pairs, each, i);
  return i;
}

// The table of one row and block, of two numbers a pair; the sines change their sign where the rotation is inverse.
template <typename T, bool adjacent>
inline void lay_out(const float* cosine, const float* sine, float sign, int64_t pairs, float* table) {
  int64_t i = for_groups<T, adjacent>(pairs, [&](auto group, int64_t i) {
    group.lay_out(cosine + i, 1.0f, table + 2 * i);
    group.lay_out(sine + i, sign, table + 2 * i + group.lanes);
  });
  for (; i < pairs; ++i) {
    table[2 * i] = cosine[i];
    table[2 * i + 1] = sign * sine[i];
  }
}

// One row and block; x and `to` may be the same memory. Inlined where `pairs` is a constant.
template <typename T, bool adjacent, bool streamed>
__attribute__((always_inline)) inline void rotate_row(const T* x, T* to, const float* table, int64_t pairs,
                                                      const Prefetch& next) {
  const int64_t step = adjacent ? 2 : 1, apart = adjacent ? 1 : pairs;
  int64_t i = for_groups<T, adjacent>(pairs, [&](auto group, int64_t i) __attribute__((always_inline)) {
    next.request<streamed>(x, to, 2 * i, 2 * group.pairs);
    group.template rotate_group<streamed>(x + step * i, to + step * i, apart, table + 2 * i);
  });
  for (; i < pairs; ++i) {
    const float a = widen(x[i * step]), b = widen(x[i * step + apart]), c = table[2 * i], s = table[2 * i + 1];
    narrow(a * c - b * s, to + i * step);
    narrow(a * s + b * c, to + i * step + apart);
  }
}

// Rows in the order of memory, all heads of a token or some tokens of a head: from one to the next, in elements.
struct Rows {
  int64_t count, from, to, table;
  Prefetch next;
};

template <typename T, bool adjacent, bool streamed, int64_t fixed = 0>
inline void rotate_rows(const T* x, T* to, const float* table, const Rows& rows, int64_t pairs) {
  for (int64_t row = 0; row < rows.count; ++row, x += rows.from, to += rows.to, table += rows.table)
    rotate_row<T, adjacent, streamed>(x, to, table, fixed ? fixed : pairs, rows.next);
}

// Widths of heads that are common are compiled for themselves where vectors are so wide that loops over a row are
// short.
template <typename T, bool adjacent, bool streamed>
inline void rotate_rows_of_width(const T* x, T* to, const float* table, const Rows& rows, int64_t pairs) {
  if (kLanes == 16 && pairs == 64) return rotate_rows<T, adjacent, streamed, 64>(x, to, table, rows, pairs);
  if (kLanes == 16 && pairs == 48) return rotate_rows<T, adjacent, streamed, 48>(x, to, table, rows, pairs);
  if (kLanes == 16 && pairs == 32) return rotate_rows<T, adjacent, streamed, 32>(x, to, table, rows, pairs);
  rotate_rows<T, adjacent, streamed>(x, to, table, rows, pairs);
}

// The channels before and behind those that are rotated.
template <typename T>
inline void copy_rest(const T* x, T* to, const Rows& rows, const Rotation& rotation) {
  const int64_t end = rotation.start + 2 * rotation.half * rotation.blocks;
  for (int64_t row = 0; row < rows.count; ++row, x += rows.from, to += rows.to) {
    std::memcpy(to, x, sizeof(T) * rotation.start);
    std::memcpy(to + end, x + end, sizeof(T) * (rotation.channels - end));
  }
}

constexpr int64_t kLaidOut = 4096;  // pairs of which a table is kept: 32 KiB

// Tokens first … last-1 of the heads that share a table, one or all of them.
template <typename T, bool adjacent, bool streamed>
inline void rotate_tokens(const Heads& x, const Rotation& rotation, const T* from, T* to, const float* cosine,
                          const float* sine, int64_t first, int64_t last, float* table) {
  const float sign = rotation.inverse ? -1.0f : 1.0f;
  const int64_t blocks = adjacent ? 1 : rotation.blocks, pairs = rotation.half * rotation.blocks, half = pairs / blocks;
  const bool copies = from != to && 2 * pairs != rotation.channels;
  const bool by_token = x.from_head < x.from_time || last - first == 1;  // in the order of memory
  const int64_t tokens = by_token || pairs > kLaidOut ? 1 : kLaidOut / pairs;
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = last - begin < tokens ? last : begin + tokens;
    for (int64_t token = begin; token < end; ++token)
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t at = (token - rotation.begin) * rotation.time_stride + block * half;
        lay_out<T, adjacent>(cosine + at, sine + at, sign, half, table + 2 * ((token - begin) * pairs + block * half));
      }
    const T* rows_from = from + begin * x.from_time;
    T* rows_to = to + begin * x.to_time;
    Rows rows = by_token ? Rows{x.heads, x.from_head, x.to_head, 0, {x.from_time, x.to_time}}
                         : Rows{end - begin, x.from_time, x.to_time, 2 * pairs, {x.from_head, x.to_head}};
    for (int64_t left = by_token ? 1 : x.heads; left > 0; --left, rows_from += x.from_head, rows_to += x.to_head) {
      if (left == 1 && (!by_token || end == last)) rows.next = {};
      if (copies) copy_rest(rows_from, rows_to, rows, rotation);
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t at = rotation.start + 2 * half * block;
        rotate_rows_of_width<T, adjacent, streamed>(rows_from + at, rows_to + at, table + 2 * half * block, rows, half);
      }
    }
  }
}

// Whether each half of each row is whole lines of the cache: only these are written past it.
template <typename T>
inline bool fills_lines(const Heads& x, const Rotation& rotation, const T* to) {
  const int64_t size = sizeof(T), run = rotation.adjacent ? 2 * rotation.half * rotation.blocks : rotation.half;
  return (reinterpret_cast<intptr_t>(to) | size * (x.to_head | x.to_time | rotation.start | run)) % kLine == 0;
}

template <typename T>
inline void rotate_tokens(const Heads& x, const Rotation& rotation, int64_t batch, int64_t first, int64_t last) {
  Heads some = x;
  const T* from = static_cast<const T*>(x.from) + batch * x.from_batch;
  T* to = static_cast<T*>(x.to) + batch * x.to_batch;
  const bool streamed = rotation.streamed && x.from != x.to && fills_lines(x, rotation, to);
  const auto loop = rotation.adjacent ? (streamed ? rotate_tokens<T, true, true> : rotate_tokens<T, true, false>)
                                  : (streamed ? rotate_tokens<T, false, true> : rotate_tokens<T, false, false>);
  const int64_t pairs = rotation.half * rotation.blocks;
  alignas(kLine) float near[2 * kLaidOut];
  float* table = pairs <= kLaidOut ? near : new float[2 * pairs];
  if (rotation.head_stride != 0) some.heads = 1;
  for (int64_t head = 0; head < x.heads; head += some.heads) {
    const int64_t at = batch * rotation.batch_stride + head * rotation.head_stride;
    loop(some, rotation, from + head * x.from_head, to + head * x.to_head, rotation.cosine + at, rotation.sine + at,
         first, last, table);
  }
  if (table != near) delete[] table;
  if (streamed) finish_streams();
}

inline void rotate_heads(const Heads& x, const Rotation& rotation, DType dtype, int64_t batch, int64_t first,
                         int64_t last) {
  switch (dtype) {
    case DType::float32: return rotate_tokens<float>(x, rotation, batch, first, last);
    case DType::bfloat16: return rotate_tokens<BFloat16>(x, rotation, batch, first, last);
    case DType::float16: return rotate_tokens<Float16>(x, rotation, batch, first, last);
  }
}

}  // namespace
