/* The largest element of each plane. */
#include "global_pool.h"

#ifndef TW_NAME
#define TW_NAME tw_globalmaxpool
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#if TW_X_IS_FLOAT
#include <math.h>
/* NaN wins, as it does in numpy. */
#define TW_LARGER(x, y) ((x) > (y) || isnan(x) ? (x) : (y))
#else
#define TW_LARGER(x, y) ((x) > (y) ? (x) : (y))
#endif

void TW_NAME(const tw_global_pool_params *params, const TW_X *x, TW_Y *y) {
  const int32_t planes = params->planes, elements = params->elements;
  for (int32_t i = 0; i < planes; i++, x += elements) {
    TW_X largest = x[0];
    for (int32_t j = 1; j < elements; j++) largest = TW_LARGER(x[j], largest);
    y[i] = largest;
  }
}
