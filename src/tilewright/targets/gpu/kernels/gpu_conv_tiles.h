/* Convolution of images with channels last, as a product of windows and filters that is made tile by tile. */
#ifndef TW_GPU_CONV_TILES_H
#define TW_GPU_CONV_TILES_H

#ifndef TW_NAME
#include "gpu_tile_32x32.h"
#define TW_NAME tw_gpu_conv_alone
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_R float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif
#define TW_WINDOWS 1
#define TW_BIAS TW_B

#include "gpu_tiles_kernel.h"

TW_GPU void group(const tw_gpu_tiles_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, const TW_R *r, TW_Y *y, void *scratch) {
  const tw_pointers at = {x, w, b, mul, add, r, y, scratch};
  tw_tiles(params, &at);
}

TW_GPU_KERNEL(tw_gpu_tiles_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, const TW_R *r,
               TW_Y *y, void *scratch),
              (x, w, b, mul, add, r, y, scratch))

#endif
