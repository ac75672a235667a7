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

constexpr int64_t kBlock = 128;  // pairs whose steps stay in the first cache

// Cosines and sines of a block of pairs at one position.
struct alignas(64) Block {
  double cosine[kBlock], sine[kBlock];
};

// Whole positions times frequencies, of which cosines and sines are to be made, times a factor.
struct Angles {
  const uint64_t* rates;  // fractions of a turn a step: kLimbs limbs below 2^32, the topmost first, each for all pairs
  const int64_t* axis;    // the coordinate that each pair reads
  int64_t axes, pairs;
  double factor;
  bool fine;  // whether a frequency is so small that all its limbs are needed
  const Block* steps = nullptr;  // waves of steps and leaps, for runs; without them every row is made alone
};

constexpr int64_t kSteps = 8;      // positions whose waves are made beforehand, for runs: 0, 1, …
constexpr int64_t kLeaps = 16;     // and those of 0, kSteps, 2·kSteps, …: both for each block of pairs
constexpr int64_t kLeastRun = 48;  // consecutive positions below which that is not worth it
inline int64_t blocks_of(int64_t pairs) { return (pairs + kBlock - 1) / kBlock * (kSteps + kLeaps); }

enum class Order : int32_t { apart, cosine_first, sine_first };  // two tables; or one, cosine and sine of a pair by turns

// Where rows of cosines and sines go.
struct Output {
  float* cosine;
  float* sine;
  int64_t stride;           // from row to row
  int64_t cosines, sines;   // of a row, of as many pairs; the last one of either may be left out
  Order order;
  bool streamed;  // rows lie on whole lines of memory, and are so many that none stays in the cache
};

// Turn tokens first … last-1 of one batch row.
using Rows = void (*)(const Heads&, const Turn&, Kind, int64_t batch, int64_t first, int64_t last);

// Cosines and sines for places (count, axes).
using Waves = void (*)(const Angles&, const int64_t* places, int64_t count, const Output& out);

// The steps and leaps of angles: blocks_of(pairs).
using Steps = void (*)(const Angles&, Block* steps);

// x·scale + y, rounded once; `streamed`: written past the caches, to whole lines of them. `next`: the x that is wanted soon.
using Sums = void (*)(const void* x, const float* y, void* out, float scale, int64_t count, Kind, bool streamed, const void* next);

// A source compiled for the vectors that it is named after.
struct Level {
  Rows rows;
  Waves waves;
  Steps steps;
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
void baseline_waves(const Angles&, const int64_t*, int64_t, const Output&);
void baseline_steps(const Angles&, Block*);
void baseline_sums(const void*, const float*, void*, float, int64_t, Kind, bool, const void*);
void avx2_rows(const Heads&, const Turn&, Kind, int64_t, int64_t, int64_t);
void avx2_waves(const Angles&, const int64_t*, int64_t, const Output&);
void avx2_steps(const Angles&, Block*);
void avx2_sums(const void*, const float*, void*, float, int64_t, Kind, bool, const void*);
void avx512_rows(const Heads&, const Turn&, Kind, int64_t, int64_t, int64_t);
void avx512_waves(const Angles&, const int64_t*, int64_t, const Output&);
void avx512_steps(const Angles&, Block*);
void avx512_sums(const void*, const float*, void*, float, int64_t, Kind, bool, const void*);

}  // namespace posenc
