// As many 64-bit numbers at a time as the level has: whole ones and floats, with the operators of the language.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#endif

// One number at a time: for what is left over, and where there are no vectors.
struct One {
  using Whole = uint64_t;
  using Real = double;
  static constexpr int count = 1;
  static Whole loaded(const uint64_t* from) { return *from; }
  // The product of the lower halves.
  static Whole product(Whole a, Whole b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
  // The lower half of each below the bits of `upper`.
  static Whole joined(uint64_t upper, Whole lower) { return upper | (lower & 0xffffffffu); }
  static Whole picked(const int64_t* from, const int64_t* which) { return static_cast<Whole>(from[*which]); }
  static Real chosen(Whole sign, Real with, Real without) { return sign >> 63 ? with : without; }
  static void store(float* place, Real value) { *place = static_cast<float>(value); }
};

#if defined(__AVX2__)
struct Many {
  typedef uint64_t Whole __attribute__((vector_size(8 * kLanes)));
  typedef int64_t Signed __attribute__((vector_size(8 * kLanes)));
  typedef double Real __attribute__((vector_size(8 * kLanes)));
  typedef float Single __attribute__((vector_size(4 * kLanes)));
  static constexpr int count = kLanes;

  static Whole loaded(const uint64_t* from) {
    typedef Whole Anywhere __attribute__((aligned(8), may_alias));
    return *reinterpret_cast<const Anywhere*>(from);
  }

  static Whole product(Whole a, Whole b) {
#if defined(__AVX512F__)
    return (Whole)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#else
    return (Whole)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
  }

  static Whole joined(uint64_t upper, Whole lower) {
#if defined(__AVX512F__)
    return (Whole)_mm512_mask_blend_epi32(0xaaaa, (__m512i)lower, (__m512i)(Whole{} + upper));
#else
    return (Whole)_mm256_blend_epi32((__m256i)lower, (__m256i)(Whole{} + upper), 0xaa);
#endif
  }

  static Real chosen(Whole sign, Real with, Real without) { return (Signed)sign < 0 ? with : without; }

  static Whole picked(const int64_t* from, const int64_t* which) {
    Whole found;
    for (int lane = 0; lane < count; ++lane) found[lane] = static_cast<uint64_t>(from[which[lane]]);
    return found;
  }

  static void store(float* place, Real value) {
    const Single rounded = __builtin_convertvector(value, Single);
    std::memcpy(place, &rounded, sizeof rounded);
  }
};
#endif

}  // namespace
