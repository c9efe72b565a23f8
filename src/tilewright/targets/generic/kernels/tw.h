/* What all kernels share. */
#ifndef TW_H
#define TW_H

#include <stdint.h>

#define TW_MAX_RANK 8

/* The iterations of the next loop do not depend on each other, even where a result lies in its operand's place. */
#if defined(__clang__)
/* No warning where the processor or the optimisation level has no vectors. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define TW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TW_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TW_INDEPENDENT
#endif

/* An iteration of the next loop is a long chain of steps: several at once do not wait for each other. */
#if defined(__clang__)
#define TW_SIDE_BY_SIDE _Pragma("clang loop interleave_count(4)")
#else
#define TW_SIDE_BY_SIDE
#endif

static inline int32_t tw_min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t tw_max(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int32_t tw_clamp(int32_t x, int32_t low, int32_t high) { return tw_min(tw_max(x, low), high); }

#endif
