/* Sums over a row of floats in independent chains: compilers vectorise them, and they are more exact than one chain. */
#ifndef TW_SUMS_H
#define TW_SUMS_H

#include "tw.h"

enum { TW_CHAINS = 16 };

static inline float tw_sum(const float *x, int32_t length) {
  float chain[TW_CHAINS] = {0.0f}, total = 0.0f;
  int32_t i = 0;
  for (; i + TW_CHAINS <= length; i += TW_CHAINS) {
    for (int32_t c = 0; c < TW_CHAINS; c++) chain[c] += x[i + c];
  }
  for (; i < length; i++) total += x[i];
  for (int32_t c = 0; c < TW_CHAINS; c++) total += chain[c];
  return total;
}

/* The sum of (x - centre)^2. */
static inline float tw_sum_of_squares(const float *x, int32_t length, float centre) {
  float chain[TW_CHAINS] = {0.0f}, total = 0.0f;
  int32_t i = 0;
  for (; i + TW_CHAINS <= length; i += TW_CHAINS) {
    for (int32_t c = 0; c < TW_CHAINS; c++) chain[c] += (x[i + c] - centre) * (x[i + c] - centre);
  }
  for (; i < length; i++) total += (x[i] - centre) * (x[i] - centre);
  for (int32_t c = 0; c < TW_CHAINS; c++) total += chain[c];
  return total;
}

static inline float tw_largest(const float *x, int32_t length) {
  float chain[TW_CHAINS], largest = x[0];
  int32_t i = 0;
  if (length >= TW_CHAINS) {
    for (int32_t c = 0; c < TW_CHAINS; c++) chain[c] = x[c];
    for (i = TW_CHAINS; i + TW_CHAINS <= length; i += TW_CHAINS) {
      for (int32_t c = 0; c < TW_CHAINS; c++) chain[c] = x[i + c] > chain[c] ? x[i + c] : chain[c];
    }
    for (int32_t c = 0; c < TW_CHAINS; c++) largest = chain[c] > largest ? chain[c] : largest;
  }
  for (; i < length; i++) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

#endif
