/* A tile of a convolution. */
#ifndef TW_CONV_TILE_H
#define TW_CONV_TILE_H

#include "conv.h"
#include "tile_loops.h"

/* The layer's parameters with the sizes of a tile; what it reads of the image is not known. */
static inline tw_conv_params tw_conv_tile(const tw_conv_params *layer, const tw_conv_loops *tile) {
  tw_conv_params p = *layer;
  p.batch = (int32_t)tile->n;
  p.groups = (int32_t)tile->g;
  p.in_channels = (int32_t)tile->c;
  p.out_channels = (int32_t)tile->f;
  p.out_h = (int32_t)tile->y;
  p.out_w = (int32_t)tile->x;
  p.kernel_h = (int32_t)tile->r;
  p.kernel_w = (int32_t)tile->s;
  return p;
}

#endif
