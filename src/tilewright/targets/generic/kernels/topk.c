/* y, indices = the k largest (or smallest) x along an axis in order, and where they are; of equals the first first */
#include "topk.h"

#ifndef TW_NAME
#define TW_NAME tw_topk_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "nan.h"

/* What is not a number is larger than all numbers. */
static inline int above(TW_X a, TW_X b) { return a > b || (TW_IS_NAN(a) && !TW_IS_NAN(b)); }

/* Puts an element in its place among the `found` best ones, of which at most k stay; gives their new number. */
static int32_t insert(TW_X x, int32_t from, int32_t found, const tw_topk_params *params, TW_Y *y, int64_t *indices) {
  const int32_t inner = params->inner, largest = params->largest;
  int32_t at = found < params->k ? found : params->k - 1;
  if (found == params->k && !(largest ? above(x, y[at * inner]) : above(y[at * inner], x))) return found;
  for (; at > 0; at--) {
    const TW_Y before = y[(at - 1) * inner];
    if (!(largest ? above(x, before) : above(before, x))) break;
    y[at * inner] = before;
    indices[at * inner] = indices[(at - 1) * inner];
  }
  y[at * inner] = x;
  indices[at * inner] = from;
  return found < params->k ? found + 1 : found;
}

void TW_NAME(const tw_topk_params *params, const TW_X *x, TW_Y *y, int64_t *indices) {
  const int32_t length = params->length, inner = params->inner, k = params->k;
  if (k == 0) return;
  for (int32_t outer = 0; outer < params->outer; outer++) {
    for (int32_t i = 0; i < inner; i++) {
      int32_t found = 0;
      for (int32_t l = 0; l < length; l++) found = insert(x[l * inner + i], l, found, params, y + i, indices + i);
    }
    x += length * inner;
    y += k * inner;
    indices += k * inner;
  }
}
