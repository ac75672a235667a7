// What is compiled once for each instruction set: loops that rotate heads, make cosines and sines, and add scaled rows.
#pragma once
#include <cstdint>

namespace posenc {

enum class DType : int32_t { float32, bfloat16, float16 };

inline int64_t size_of(DType dtype) { return dtype == DType::float32 ? 4 : 2; }

// Queries or keys, (batch, heads, time, channels), by strides in elements: where they are read and where results are
// written. The stride of channels is 1.
struct Heads {
  const void* from;
  void* to;
  int64_t heads;
  int64_t from_batch, from_head, from_time;
  int64_t to_batch, to_head, to_time;
};

// Tables of cosines and sines, and the channels that they rotate.
struct Rotation {
  const float* cosine;
  const float* sine;
  int64_t batch_stride, head_stride, time_stride;  // of both tables; 0 where an axis is shared
  int64_t channels;                                // of a head
  int64_t start, blocks, half;                     // blocks of 2·half channels, from channel `start` on
  bool adjacent, inverse;
  int64_t begin = 0;      // the token of the tables' first row
  bool streamed = false;  // whether results are more than caches hold, and are written past them
};

constexpr int kLimbs = 5;

constexpr int64_t kTile = 128;  // pairs whose steps stay in the first cache

// Cosines and sines of some pairs at one position.
struct alignas(64) CosSinTile {
  double cosine[kTile], sine[kTile];
};

// Frequencies and the coordinates of positions that they are multiplied with; cosines and sines are multiplied by a
// factor.
struct Angles {
  const uint64_t*
      limbs;  // of each frequency in revolutions a position: kLimbs below 2^32, the topmost first, each for all pairs
  const int64_t* axis;  // the coordinate of each pair
  int64_t axes, pairs;
  double factor;
  bool tiny;                          // whether a frequency is so small that all its limbs are needed
  const CosSinTile* steps = nullptr;  // tiles for runs of positions; without them every row is made from its angles
};

constexpr int64_t kSmallSteps = 8;   // positions 0, 1, … whose tiles are made beforehand, for runs,
constexpr int64_t kLargeSteps = 16;  // and 0, kSmallSteps, 2·kSmallSteps, …
constexpr int64_t kLeastRun = 48;    // consecutive positions below which that is not worth it
inline int64_t tiles_of(int64_t pairs) { return (pairs + kTile - 1) / kTile * (kSmallSteps + kLargeSteps); }

enum class Order : int32_t { separate, cosine_first, sine_first };  // two tables; or cosine and sine of a pair by turns

// Where rows of cosines and sines are written.
struct Output {
  float* cosine;
  float* sine;
  int64_t stride;          // from row to row
  int64_t cosines, sines;  // of a row, each of as many pairs; the last one of either may be left out
  Order order;
  bool streamed = false;  // rows are whole lines of memory, and more than caches hold: they are written past them
};

struct InstructionSet {
  const char* name;
  // Rotates tokens first … last-1 of one row of the batch.
  void (*rotate_heads)(const Heads&, const Rotation&, DType, int64_t batch, int64_t first, int64_t last);
  // Cosines and sines at positions (count, axes).
  void (*cos_sin_rows)(const Angles&, const int64_t* positions, int64_t count, const Output&);
  // The tiles of small and large steps: tiles_of(pairs).
  void (*step_tiles)(const Angles&, CosSinTile*);
  // x·scale + y, rounded once; streamed: past the caches, to whole lines of them; next: the x that is needed soon.
  void (*scaled_sum)(const void* x, const float* y, void* out, float scale, int64_t count, DType, bool streamed,
                     const void* next);
};
extern const InstructionSet baseline, avx2, avx512, avx512bf16;

}  // namespace posenc
