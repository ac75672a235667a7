// The loops, compiled once a level. Everything here has internal linkage: code of one level must not be linked into another.
#pragma once
#include <cstdint>
#include <cstring>

#include "rotate.h"

namespace {

using namespace posenc;

struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has _Float16 in C++ for Intel alone
#else
using Half = _Float16;
#endif

inline float widened(float value) { return value; }

inline float widened(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, 4);
  return wide;
}

inline float widened(Float16 value) {
  Half half;
  std::memcpy(&half, &value.bits, 2);
  return static_cast<float>(half);
}

inline void put(float* place, float value) { *place = value; }

// To the nearest, ties to even; a NaN stays one.
inline void put(BFloat16* place, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  place->bits = static_cast<uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16);
}

inline void put(Float16* place, float value) {
  const Half half = static_cast<Half>(value);
  std::memcpy(&place->bits, &half, 2);
}

}  // namespace

#if defined(__AVX512F__)
#include "vectors512.h"
#elif defined(__AVX2__)
#include "vectors.h"
#endif

namespace {

// Pairs (first[i·step], second[i·step]) of one block; source and target may be one place.
template <typename T, int step>
inline void turned(const T* first, const T* second, T* to_first, T* to_second, const float* cosine, const float* sine,
                   float sign, int64_t pairs) {
  int64_t done = 0;
#if defined(__AVX2__)
  if constexpr (step == 1)
    done = turned_halves(first, second, to_first, to_second, cosine, sine, sign, pairs);
  else
    done = turned_adjacent(first, to_first, cosine, sine, sign, pairs);
#endif
#pragma omp simd
  for (int64_t i = done; i < pairs; ++i) {
    const float a = widened(first[i * step]), b = widened(second[i * step]);
    const float s = sign * sine[i];
    put(to_first + i * step, a * cosine[i] - b * s);
    put(to_second + i * step, a * s + b * cosine[i]);
  }
}

template <typename T>
inline void row(const T* from, T* to, const float* cosine, const float* sine, const Turn& turn) {
  const float sign = turn.inverse ? -1.0f : 1.0f;
  const int64_t width = 2 * turn.half * turn.blocks;
  if (from != to && width != turn.channels) {
    std::memcpy(to, from, sizeof(T) * turn.start);
    const int64_t end = turn.start + width;
    std::memcpy(to + end, from + end, sizeof(T) * (turn.channels - end));
  }
  from += turn.start;
  to += turn.start;
  if (turn.adjacent) {
    turned<T, 2>(from, from + 1, to, to + 1, cosine, sine, sign, turn.half * turn.blocks);
    return;
  }
  for (int64_t block = 0; block < turn.blocks; ++block) {
    const int64_t at = 2 * turn.half * block, pair = turn.half * block;
    turned<T, 1>(from + at, from + at + turn.half, to + at, to + at + turn.half, cosine + pair, sine + pair, sign,
                 turn.half);
  }
}

template <typename T>
inline void rows(const Heads& x, const Turn& turn, int64_t batch, int64_t first, int64_t last) {
  const T* from = static_cast<const T*>(x.from) + batch * x.from_batch;
  T* to = static_cast<T*>(x.to) + batch * x.to_batch;
  const float* cosine = turn.cosine + batch * turn.of_batch;
  const float* sine = turn.sine + batch * turn.of_batch;
  auto one = [&](int64_t head, int64_t token) {
    const int64_t place = head * turn.of_head + (token - turn.begin) * turn.of_time;
    row(from + head * x.from_head + token * x.from_time, to + head * x.to_head + token * x.to_time, cosine + place,
        sine + place, turn);
  };
  // As the memory lies: all heads of a token together, or all tokens of a head.
  if (x.from_head < x.from_time) {
    for (int64_t token = first; token < last; ++token)
      for (int64_t head = 0; head < x.heads; ++head) one(head, token);
  } else {
    for (int64_t head = 0; head < x.heads; ++head)
      for (int64_t token = first; token < last; ++token) one(head, token);
  }
}

inline void rows_of_kind(const Heads& x, const Turn& turn, Kind kind, int64_t batch, int64_t first, int64_t last) {
  switch (kind) {
    case Kind::float32: return rows<float>(x, turn, batch, first, last);
    case Kind::bfloat16: return rows<BFloat16>(x, turn, batch, first, last);
    case Kind::float16: return rows<Float16>(x, turn, batch, first, last);
  }
}

}  // namespace
