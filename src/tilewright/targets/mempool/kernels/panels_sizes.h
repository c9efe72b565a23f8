/* Panels of rows, how their products are cut among cores, and working memory. */
#ifndef TW_PANELS_SIZES_H
#define TW_PANELS_SIZES_H

#include "conv.h"
#include "matmul.h"

#define TW_PANEL 4         /* rows of a panel */
#define TW_BLOCK 16        /* sums of a block */
#define TW_SHORTEST_PART 8 /* words of a sum that are worth a core */
#define TW_GATHERED_SHARE 6 /* windows that are gathered at a time take at most one part in this many of L1 */

static inline int32_t tw_panels_of(int32_t rows) { return (rows + TW_PANEL - 1) / TW_PANEL; }

/* Words of a row. */
static inline int32_t tw_panel_words(int32_t inner) { return (inner + 3) / 4; }

static inline int32_t tw_window_words(const tw_conv_params *p) {
  return tw_panel_words(p->kernel_h * p->kernel_w * p->in_channels);
}

/* Into how many parts sums are cut, so that all cores have something to do. */
static inline int32_t tw_parts_of(int32_t blocks, int32_t words, int32_t cores) {
  return 2 * blocks > cores ? 1 : tw_max(1, tw_min(cores / tw_max(blocks, 1), words / TW_SHORTEST_PART));
}

/* The integer that stands for zero in panels, where all bytes are signed. */
static inline int32_t tw_flipped_zero(int32_t is_signed, int32_t zero) { return is_signed ? zero : zero - 128; }

static inline int32_t tw_matrices(const tw_matmul_params *p) {
  int32_t matrices = 1;
  for (int32_t axis = 0; axis < p->rank; axis++) matrices *= p->size[axis];
  return matrices;
}

/* Of the parts of sums, where there may be fewer blocks than cores. */
static inline int64_t tw_partial_bytes(int64_t blocks, int32_t words, int32_t cores) {
  return 2 * blocks > cores || words < 2 * TW_SHORTEST_PART ? 0 : 4 * TW_BLOCK * (int64_t)cores;
}

/* Panels of both operands, what sums of columns begin with, sums of rows where those matter, parts of sums. */
static inline int64_t tw_matmul_panels_scratch(const tw_matmul_params *p, int32_t b_signed, int32_t cores) {
  const int64_t matrices = tw_matrices(p), a = tw_panels_of(p->rows), b = tw_panels_of(p->columns);
  const int32_t words = tw_panel_words(p->inner);
  const int64_t sums = b + (tw_flipped_zero(b_signed, p->b_zero) ? a : 0);
  return 4 * TW_PANEL * matrices * ((a + b) * words + sums) + tw_partial_bytes(matrices * a * b, words, cores);
}

/* Panels of windows at a time, with an L1 of so many bytes. */
static inline int64_t tw_panels_chunk(const tw_conv_params *p, int32_t l1) {
  const int32_t most = tw_max(1, l1 / TW_GATHERED_SHARE / (4 * TW_PANEL * tw_max(tw_window_words(p), 1)));
  return tw_max(1, tw_min(tw_panels_of(p->batch * p->out_h * p->out_w), most));
}

/* Panels of filters and of `chunk` panels of windows, what sums begin with, sums of windows where those matter, parts of sums. */
static inline int64_t tw_conv_panels_scratch(const tw_conv_params *p, int32_t w_signed, int32_t cores) {
  const int64_t filters = tw_panels_of(p->out_channels), sums = filters + (tw_flipped_zero(w_signed, p->w_zero) ? p->chunk : 0);
  const int32_t words = tw_window_words(p), rest = tw_panels_of(p->batch * p->out_h * p->out_w) % p->chunk;
  const int64_t last = (rest ? rest : p->chunk) * filters;
  return 4 * TW_PANEL * ((filters + p->chunk) * words + sums) + tw_partial_bytes(last, words, cores);
}

/* Filters in fours, and what sums begin with. */
static inline int64_t tw_depthwise_quads_scratch(const tw_conv_params *p) {
  return 4 * tw_panels_of(p->groups) * ((int64_t)p->kernel_h * p->kernel_w + 4);
}

#endif
