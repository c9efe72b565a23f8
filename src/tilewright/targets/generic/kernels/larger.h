/* The larger of two values of TW_X, and what no value is below. */
#ifndef TW_LARGER_H
#define TW_LARGER_H

#include <stdint.h>

#include "nan.h"

#if TW_X_IS_FLOAT
#include <math.h>
#define TW_LOWEST (-INFINITY)
/* NaN wins, as it does in numpy. */
#define TW_LARGER(x, y) ((x) > (y) || TW_IS_NAN(x) ? (x) : (y))
#else
#define TW_LOWEST ((TW_X)-1 > 0 ? (TW_X)0 : (TW_X)((uint64_t)1 << (8 * sizeof(TW_X) - 1)))
#define TW_LARGER(x, y) ((x) > (y) ? (x) : (y))
#endif

#endif
