/* e^x of vectors that are not above 80, as fast_exp.h has it of floats: the relative error is below 3e-7, results below
 * 2^-125 are 0. */
#ifndef TW_VECTOR_EXP_H
#define TW_VECTOR_EXP_H

#include "vectors.h"

TW_INLINE tw_vector tw_vector_exp(tw_vector x) {
  const tw_vector shifted = x * 1.44269504f + 12582912.0f;
  const tw_vector n = shifted - 12582912.0f;
  const tw_vector r = x - n * 0.693145752f - n * 1.42860677e-6f;
  const tw_vector square = r * r;
  const tw_vector low = (1.0f / 2 + r * (1.0f / 6)) + square * (1.0f / 24 + r * (1.0f / 120) + square * (1.0f / 720));
  const tw_vector series = 1.0f + (r + square * low);
  const tw_vector_bits power = ((tw_vector_bits)shifted + 127) << 23; /* 2^n */
  return tw_select(x < -86.9f, tw_all(0.0f), (tw_vector)power * series);
}

/* x = 2^x of `count` vectors, a constant, that are not above 0, step by step, so that none waits for itself: the relative
 * error is below 2e-7, results below 2^-126 are as small or 0. */
TW_INLINE void tw_vectors_exp2(const int count, tw_vector x[]) {
  tw_vector shifted[4], series[4];
  TW_UNROLL for (int v = 0; v < count; v++) x[v] = tw_at_least(x[v], tw_all(-127.0f));
  TW_UNROLL for (int v = 0; v < count; v++) shifted[v] = x[v] + 12582912.0f;
  TW_UNROLL for (int v = 0; v < count; v++) x[v] -= shifted[v] - 12582912.0f;
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 0.0013398875f + x[v] * 0.000153533605f;
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 0.00961843692f + x[v] * series[v];
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 0.0555033237f + x[v] * series[v];
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 0.240226477f + x[v] * series[v];
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 0.693147182f + x[v] * series[v];
  TW_UNROLL for (int v = 0; v < count; v++) series[v] = 1.0f + x[v] * series[v];
  TW_UNROLL for (int v = 0; v < count; v++) { /* times 2^n */
    x[v] = (tw_vector)((tw_vector_bits)series[v] + ((tw_vector_bits)shifted[v] << 23));
  }
}

#endif
