/* A product of few rows and a matrix: rows of a and columns of b have neighbours side by side. */
#ifndef TW_NAME
#define TW_NAME tw_gpu_matmul_few
#define TW_A float
#define TW_B float
#define TW_C float
#define TW_R float
#define TW_Y float
#endif
#include "gpu_stored.h"
#define TW_FACTOR TW_A
#define TW_FACTOR_LOAD TW_A_LOAD
#ifndef TW_WEIGHT
#define TW_WEIGHT TW_B
#define TW_WEIGHT_LOAD TW_B_LOAD
#endif
#define TW_BIAS TW_C
#define TW_BIAS_LOAD TW_C_LOAD

#include "gpu_few_rows_kernel.h"

TW_GPU void group(const tw_gpu_few_rows_params *params, const TW_A *a, const TW_B *b, const TW_C *c, const TW_R *r,
                  TW_Y *y) {
  tw_few_rows(params, a, (const TW_WEIGHT *)b, c, r, y);
}

TW_GPU_KERNEL(tw_gpu_few_rows_params,
              (const TW_A *a, const TW_B *b, const TW_C *c, const TW_R *r, TW_Y *y), (a, b, c, r, y))
