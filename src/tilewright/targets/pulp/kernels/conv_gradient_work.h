/* Working memory and units of work of gradients of convolutions: those of the core that has most. */
#ifndef TW_CONV_GRADIENT_WORK_H
#define TW_CONV_GRADIENT_WORK_H

#include "conv_gradient.h"
#include "conv_weight_grad_sizes.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* As long as a pixel of one group of g. */
static inline int64_t tw_conv_gradient_zeros(const tw_conv_gradient_params *p) { return 4 * (int64_t)p->filters; }

/* The call, blocks of four filters and channels under one tap, rows of the result that they are summed over, and products; of
 * windows that are copied, these and their floats. */
static inline int64_t tw_conv_weight_grad_blocks_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile, int32_t cores,
                                                      double *units) {
  const int is_copied = tw_copies_windows(p);
  const int64_t pixels = tile->n * tile->y * tile->x, columns = is_copied ? tw_up(tile->c * tile->r * tile->s, 4) : tw_up(tile->c, 4) * tile->r * tile->s;
  const int64_t blocks = tw_up(tile->g * tw_up(tile->f, 4) * columns, cores);
  const int64_t copied = is_copied ? tw_up(pixels, cores) : 0;
  const int is_one_run = p->kernel_h == 1 && p->kernel_w == 1 && p->stride_h == 1 && p->stride_w == 1;
  const int64_t runs = is_copied ? blocks * tw_up(pixels, tw_windows_at_once(p)) : blocks * tile->n * (is_one_run ? 1 : tile->y);
  TW_UNITS(1, blocks, runs, blocks * pixels, copied, copied * tile->r, copied * tile->r * tile->s * tile->c);
}

/* The call, blocks of four pixels and channels, taps that reach them, and products; of filters with one tap, pixels, blocks
 * and products apart, and blocks that no tap reaches. */
static inline int64_t tw_conv_input_grad_blocks_work(const tw_conv_gradient_params *p, const tw_conv_loops *tile, int32_t cores,
                                                     double *units) {
  const int64_t phases = tw_least(p->stride_w, tile->x), in_row = phases * tw_up(tw_up(tile->x, phases), 4);
  const int64_t apart = p->stride_h * p->stride_w, has_one_tap = p->kernel_h == 1 && p->kernel_w == 1 && p->groups == 1;
  const int64_t quads = has_one_tap && apart == 1 ? tw_up(tile->n * tile->y * tile->x, 4) : tile->n * tile->y * in_row;
  const int64_t blocks = tw_up(quads * tile->g * tw_up(tile->c, 4), cores), taps = blocks * tw_up(tile->r * tile->s, apart);
  if (!has_one_tap) TW_UNITS(1, blocks, taps, taps * tile->f, 0, 0, 0, 0);
  const int64_t reached = tw_up(blocks, apart);
  TW_UNITS(1, 0, 0, 0, tw_up(quads, cores), reached, reached * tile->f, blocks - reached);
}

#endif
