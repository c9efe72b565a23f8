/* Units of work of convolutions and products for vectors. */
#ifndef TW_DOT_WORK_H
#define TW_DOT_WORK_H

#include "conv_dot_sizes.h"
#include "conv_panels.h"
#include "dot_ways.h"
#include "matmul_nbits.h"
#include "tile_loops.h"
#include "units_of_work.h"
#include "winograd.h"

/* The call; products of several pixels and of one, which waits for weights. */
#define TW_PRODUCTS(points, pixels) 1, (pixels) == 1 ? 0 : (points), (pixels) == 1 ? (points) : 0

/* Whether windows reach beyond the image. */
static inline int tw_has_padding(const tw_conv_params *p) {
  return p->pad_top || p->pad_left || tw_rows_reached(p) > p->in_h || tw_columns_reached(p) > p->in_w;
}

/* Besides: results of the near kind, and others; elements of an image that may be copied. */
static inline int64_t tw_conv_dot_work(const tw_conv_dot_params *p, const tw_all_loops *tile, double *units) {
  const tw_conv_params *const conv = &p->conv;
  const int64_t pixels = (int64_t)conv->batch * conv->out_h * conv->out_w, results = pixels * conv->groups * conv->out_channels;
  const int64_t image = (int64_t)conv->batch * conv->in_h * conv->in_w * conv->groups * conv->in_channels;
  const int is_near = TW_IS_NEAR((tw_way)p->way);
  TW_UNITS(TW_PRODUCTS(tile->rest, pixels), is_near ? results : 0, is_near ? 0 : results, tw_has_padding(conv) ? image : 0);
}

static inline int64_t tw_conv_dot_scaled_work(const tw_conv_dot_scaled_params *p, const tw_all_loops *tile, double *units) {
  return tw_conv_dot_work(&p->dot, tile, units);
}

/* The call; products of several rows; the second operand, which is packed or read; results of the near kind, and others. */
static inline int64_t tw_matmul_dot_work(const tw_matmul_dot_params *p, const tw_all_loops *tile, double *units) {
  const tw_matmul_params *const product = &p->product;
  int64_t rows = product->rows, matrices = 1;
  for (int32_t axis = 0; axis < product->rank; axis++) {
    rows *= product->size[axis];
    matrices *= product->stride_b[axis] ? product->size[axis] : 1;
  }
  const int is_near = TW_IS_NEAR((tw_way)p->way);
  const int64_t results = rows * product->columns;
  TW_UNITS(1, rows == 1 ? 0 : tile->rest, matrices * product->inner * product->columns, is_near ? results : 0, is_near ? 0 : results);
}

/* The call; products of several pixels and of one; results; elements of an image that may be copied. */
static inline int64_t tw_conv_panels_work(const tw_conv_panels_params *p, const tw_all_loops *tile, double *units) {
  const int64_t pixels = (int64_t)p->batch * p->out_h * p->out_w;
  const int64_t image = (int64_t)p->batch * p->in_h * p->in_w * p->groups * p->in_channels;
  TW_UNITS(TW_PRODUCTS(tile->rest, pixels), pixels * p->groups * p->out_channels, p->padded ? image : 0);
}

static inline int64_t tw_winograd_work(const tw_winograd_params *p, const tw_all_loops *tile, double *units) {
  const int64_t pixels = (int64_t)p->batch * p->out_h * p->out_w, image = (int64_t)p->batch * p->in_h * p->in_w * p->in_channels;
  const int padded = p->pad_top || p->pad_left || p->out_h + 2 > p->in_h || p->out_w + 2 > p->in_w;
  TW_UNITS(TW_PRODUCTS(tile->rest, pixels), pixels * p->out_channels, padded ? image : 0);
}

/* The call, and products. */
static inline int64_t tw_matmul_nibbles_work(const tw_matmul_nbits_params *p, const tw_all_loops *tile, double *units) {
  TW_UNITS(1, tile->rest * p->inner);
}

#endif
