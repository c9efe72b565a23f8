/* y[o, l, i] = x[o, 0, i] + ... + x[o, l, i] */
#include "cumsum.h"

#ifndef TW_NAME
#define TW_NAME tw_cumsum_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#define NOTHING 0

/* Integers wrap around. */
static inline TW_Y joined(TW_Y a, TW_X b) {
#if TW_X_IS_FLOAT
  return a + b;
#else
  return (TW_Y)((uint64_t)a + (uint64_t)b);
#endif
}

#include "running.h"
