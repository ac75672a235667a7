// The loops that turn, compiled once a level. Everything here has internal linkage: code of one level must not be linked into another.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ahead.h"
#include "kinds.h"
#include "rotate.h"

#if defined(__AVX512F__)
#include "pairs512.h"
#elif defined(__AVX2__)
#include "pairs.h"
#else
#include "pairs1.h"
#endif

namespace {

using namespace posenc;

// Cosines and sines of one row and block, the sine with its sign, as the loops read them: those of whole groups in the order of
// the level, then cosines of what is left over, then its sines.
template <typename T, bool adjacent>
inline void prepared(const float* cosine, const float* sine, float sign, int64_t pairs, float* waves) {
  const int64_t done = grouped<T, adjacent>(pairs);
  prepared_groups<T, adjacent>(cosine, sine, sign, pairs, waves);
  float *cosines = waves + 2 * done, *sines = cosines + pairs - done;
  for (int64_t i = done; i < pairs; ++i) *cosines++ = cosine[i];
  for (int64_t i = done; i < pairs; ++i) *sines++ = sign * sine[i];
}

// What groups leave over of one row and block, pairs (x[i], x[i + pairs]) or (x[2i], x[2i + 1]); source and target may be one place.
template <typename T, bool adjacent>
inline void turned_singly(const T* x, T* to, const float* waves, int64_t pairs) {
  const int64_t done = grouped<T, adjacent>(pairs), step = adjacent ? 2 : 1, apart = adjacent ? 1 : pairs;
  const float *cosine = waves + done, *sine = cosine + pairs - done;  // each counted from pair 0
#pragma omp simd
  for (int64_t i = done; i < pairs; ++i) {
    const float a = widened(x[i * step]), b = widened(x[i * step + apart]), c = cosine[i], s = sine[i];
    put(to + i * step, a * c - b * s);
    put(to + i * step + apart, a * s + b * c);
  }
}

// Rows that follow each other as the memory lies, all heads of a token or tokens of a head: from one to the next; and how far
// ahead lies the same row of the line that comes after.
struct Line {
  int64_t count, from, to, waves;
  Ahead ahead;
};

template <typename T, bool adjacent, bool streamed>
inline void turned_line(const T* from, T* to, const float* waves, const Line& line, int64_t pairs) {
  const int64_t done = grouped<T, adjacent>(pairs);
  if (done < pairs)
    for (int64_t row = 0; row < line.count; ++row)
      turned_singly<T, adjacent>(from + row * line.from, to + row * line.to, waves + row * line.waves, pairs);
  if (done == 0) return;
  for (int64_t row = 0; row < line.count; ++row, from += line.from, to += line.to, waves += line.waves)
    turned_groups<adjacent, streamed>(from, to, waves, pairs, line.ahead);
}

// Channels beside those that are turned.
template <typename T>
inline void copied_line(const T* from, T* to, const Line& line, const Turn& turn) {
  const int64_t end = turn.start + 2 * turn.half * turn.blocks;
  for (int64_t row = 0; row < line.count; ++row, from += line.from, to += line.to) {
    std::memcpy(to, from, sizeof(T) * turn.start);
    std::memcpy(to + end, from + end, sizeof(T) * (turn.channels - end));
  }
}

constexpr int64_t kPrepared = 4096;  // pairs of which cosines and sines are kept ready: 32 KiB

// Tokens first … last-1 of the heads that share a table, one or all of them.
template <typename T, bool adjacent, bool streamed>
inline void rows(const Heads& x, const Turn& turn, const T* from, T* to, const float* cosine, const float* sine, int64_t first,
                 int64_t last, float* waves) {
  const float sign = turn.inverse ? -1.0f : 1.0f;
  const int64_t blocks = adjacent ? 1 : turn.blocks, pairs = turn.half * turn.blocks, half = pairs / blocks;
  const bool beside = from != to && 2 * pairs != turn.channels;
  // As the memory lies: all heads of a token together, or some tokens of each head.
  const bool by_token = x.from_head < x.from_time || last - first == 1;
  const int64_t tokens = by_token || pairs > kPrepared ? 1 : kPrepared / pairs;
  for (int64_t begin = first, end; begin < last; begin = end) {
    end = last - begin < tokens ? last : begin + tokens;
    for (int64_t token = begin; token < end; ++token)
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t at = (token - turn.begin) * turn.of_time + block * half;
        prepared<T, adjacent>(cosine + at, sine + at, sign, half, waves + 2 * ((token - begin) * pairs + block * half));
      }
    const T* line_from = from + begin * x.from_time;
    T* line_to = to + begin * x.to_time;
    Line line = by_token ? Line{x.heads, x.from_head, x.to_head, 0, {x.from_time, x.to_time}}
                         : Line{end - begin, x.from_time, x.to_time, 2 * pairs, {x.from_head, x.to_head}};
    for (int64_t left = by_token ? 1 : x.heads; left > 0; --left, line_from += x.from_head, line_to += x.to_head) {
      if (left == 1 && (!by_token || end == last)) line.ahead = {};
      if (beside) copied_line(line_from, line_to, line, turn);
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t at = turn.start + 2 * half * block;
        turned_line<T, adjacent, streamed>(line_from + at, line_to + at, waves + 2 * half * block, line, half);
      }
    }
  }
}

// Whether each half of each row is whole lines of the cache: only these are written past it.
template <typename T>
inline bool in_lines(const Heads& x, const Turn& turn, const T* to) {
  const int64_t size = sizeof(T), run = turn.adjacent ? 2 * turn.half * turn.blocks : turn.half;
  const int64_t places = reinterpret_cast<intptr_t>(to) | size * (x.to_head | x.to_time | turn.start | run);
  return places % 64 == 0;
}

template <typename T>
inline void rows(const Heads& x, const Turn& turn, int64_t batch, int64_t first, int64_t last) {
  Heads some = x;
  const T* from = static_cast<const T*>(x.from) + batch * x.from_batch;
  T* to = static_cast<T*>(x.to) + batch * x.to_batch;
  const bool streamed = turn.streamed && x.from != x.to && in_lines(x, turn, to);
  const auto loop = turn.adjacent ? (streamed ? rows<T, true, true> : rows<T, true, false>)
                                  : (streamed ? rows<T, false, true> : rows<T, false, false>);
  const int64_t pairs = turn.half * turn.blocks;
  float near[2 * kPrepared];
  float* waves = pairs <= kPrepared ? near : static_cast<float*>(std::malloc(2 * sizeof(float) * pairs));
  if (turn.of_head != 0) some.heads = 1;
  for (int64_t head = 0; head < x.heads; head += some.heads) {
    const int64_t at = batch * turn.of_batch + head * turn.of_head;
    loop(some, turn, from + head * x.from_head, to + head * x.to_head, turn.cosine + at, turn.sine + at, first, last, waves);
  }
  if (waves != near) std::free(waves);
#if defined(__AVX2__)
  if (streamed) _mm_sfence();  // what went past the caches is there before anyone is told that it is
#endif
}

inline void rows_of_kind(const Heads& x, const Turn& turn, Kind kind, int64_t batch, int64_t first, int64_t last) {
  switch (kind) {
    case Kind::float32: return rows<float>(x, turn, batch, first, last);
    case Kind::bfloat16: return rows<BFloat16>(x, turn, batch, first, last);
    case Kind::float16: return rows<Float16>(x, turn, batch, first, last);
  }
}

}  // namespace
