/* y = mean of x over some axes; all cores together */
#include "reduce.h"

#ifndef TW_NAME
#define TW_NAME tw_reducemean_streams
#endif

#include "reduce_streams.h"

void TW_NAME(const tw_reduce_params *params, const float *x, float *y) { tw_reduce_streams(params, 1.0f / (float)params->count, x, y); }
