// What a level of vectors gets to do: turn the rows of one tensor for one range of tokens.
#pragma once
#include <cstdint>

namespace posenc {

enum class Kind : int32_t { float32, bfloat16, float16 };

inline int64_t bytes_of(Kind kind) { return kind == Kind::float32 ? 4 : 2; }

// One tensor of queries or keys, (batch, heads, time, channels) by strides in elements; the last stride is 1.
struct Heads {
  const void* from;
  void* to;
  int64_t heads;
  int64_t from_batch, from_head, from_time;
  int64_t to_batch, to_head, to_time;
};

struct Turn {
  const float* cosine;
  const float* sine;
  int64_t of_batch, of_head, of_time;  // strides of both tables; 0 where an axis is shared
  int64_t channels;                    // of a head
  int64_t start, blocks, half;         // blocks of 2·half channels, from channel `start` on
  bool adjacent, inverse;
  int64_t begin = 0;      // the token of their first row
  bool streamed = false;  // whether new memory is written past the caches, as it is more than they hold
};

constexpr int kLimbs = 5;

// Whole positions times frequencies, of which cosines and sines are to be made, times a factor.
struct Angles {
  const uint64_t* rates;  // fractions of a turn a step: kLimbs limbs below 2^32, the topmost first, each for all pairs
  const int64_t* axis;    // the coordinate that each pair reads
  int64_t axes, pairs;
  double factor;
  bool fine;  // whether a frequency is so small that all its limbs are needed
};

// Turn tokens first … last-1 of one batch row.
using Rows = void (*)(const Heads&, const Turn&, Kind, int64_t batch, int64_t first, int64_t last);

// Cosines and sines, (count, pairs) each, for places (count, axes).
using Waves = void (*)(const Angles&, const int64_t* places, int64_t count, float* cosine, float* sine);

// x·scale + y, rounded once; `streamed`: written past the caches, to whole lines of them.
using Sums = void (*)(const void* x, const float* y, void* out, float scale, int64_t count, Kind, bool streamed);

// A source compiled for the vectors that it is named after.
struct Level {
  Rows rows;
  Waves waves;
  Sums sums;
  const char* name;
};
// Those that this processor has, the best first.
struct Levels {
  Level list[3];
  int count = 0;
  const Level* begin() const { return list; }
  const Level* end() const { return list + count; }
};
const Levels& levels();
inline const Level& best_level() { return levels().list[0]; }

void baseline_rows(const Heads&, const Turn&, Kind, int64_t, int64_t, int64_t);
void baseline_waves(const Angles&, const int64_t*, int64_t, float*, float*);
void baseline_sums(const void*, const float*, void*, float, int64_t, Kind, bool);
void avx2_rows(const Heads&, const Turn&, Kind, int64_t, int64_t, int64_t);
void avx2_waves(const Angles&, const int64_t*, int64_t, float*, float*);
void avx2_sums(const void*, const float*, void*, float, int64_t, Kind, bool);
void avx512_rows(const Heads&, const Turn&, Kind, int64_t, int64_t, int64_t);
void avx512_waves(const Angles&, const int64_t*, int64_t, float*, float*);
void avx512_sums(const void*, const float*, void*, float, int64_t, Kind, bool);

}  // namespace posenc
