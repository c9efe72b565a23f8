/* A convolution of few pixels with filters of one tap, channels last. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_conv_few
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_R float
#define TW_Y float
#endif
#include "gpu_stored.h"
#define TW_FACTOR TW_X
#define TW_FACTOR_LOAD TW_X_LOAD
#define TW_WEIGHT TW_W
#define TW_WEIGHT_LOAD TW_W_LOAD
#define TW_BIAS TW_B
#define TW_BIAS_LOAD TW_B_LOAD

#include "gpu_few_rows_kernel.h"

TW_GPU void group(const tw_gpu_few_rows_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const TW_R *r,
                  TW_Y *y) {
  tw_few_rows(params, x, w, b, r, y);
}

TW_GPU_KERNEL(tw_gpu_few_rows_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const TW_R *r, TW_Y *y), (x, w, b, r, y))
