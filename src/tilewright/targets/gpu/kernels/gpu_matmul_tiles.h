/* Product of matrices tile by tile: rows of a and columns of b have neighbours side by side. */
#ifndef TW_GPU_MATMUL_TILES_H
#define TW_GPU_MATMUL_TILES_H

#ifndef TW_NAME
#include "gpu_tile_32x32.h"
#define TW_NAME tw_gpu_matmul_alone
#define TW_A float
#define TW_B float
#define TW_C float
#define TW_R float
#define TW_Y float
#define TW_A_IS_FLOAT 1
#endif
#define TW_WINDOWS 0
#define TW_X TW_A
#define TW_W TW_B
#define TW_BIAS TW_C
#define TW_X_IS_FLOAT TW_A_IS_FLOAT
#if TW_A_IS_HALF
#define TW_X_IS_HALF 1
#define TW_X_IS_BFLOAT TW_A_IS_BFLOAT
#define TW_X_LOAD TW_A_LOAD
#endif

#include "gpu_tiles_kernel.h"

TW_GPU void group(const tw_gpu_tiles_params *params, const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul,
                  const int32_t *add, const TW_R *r, TW_Y *y, void *scratch) {
  const tw_pointers at = {a, b, c, mul, add, r, y, scratch};
  tw_tiles(params, &at);
}

TW_GPU_KERNEL(tw_gpu_tiles_params,
              (const TW_A *a, const TW_B *b, const TW_C *c, const int32_t *mul, const int32_t *add, const TW_R *r,
               TW_Y *y, void *scratch),
              (a, b, c, mul, add, r, y, scratch))

#endif
