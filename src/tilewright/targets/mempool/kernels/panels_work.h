/* Units of work of products of panels: those of one core. */
#ifndef TW_PANELS_WORK_H
#define TW_PANELS_WORK_H

#include "panels_sizes.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* Blocks of a core, products of words in these, whether sums are cut; blocks by the way from totals to results. */
typedef struct {
  double own, products, are_cut, native, half_up, others;
} tw_block_units;

static inline tw_block_units tw_blocks_of(int32_t requantised, const tw_requant *r, int64_t blocks, int64_t words, int32_t cores) {
  const int32_t parts = tw_parts_of((int32_t)blocks, (int32_t)words, cores);
  const int64_t own = tw_up(blocks, cores);
  const double results = requantised ? (double)own / parts : 0;
  const int native = r->rounding == TW_NATIVE, up = r->rounding == TW_HALF_UP;
  const tw_block_units found = {own, (double)(own * words) / parts, parts > 1, native ? results : 0, up ? results : 0,
                                native || up ? 0 : results};
  return found;
}

#define TW_BLOCKS(b) (b).own, (b).products, (b).are_cut, (b).native, (b).half_up, (b).others

/* The call; rows that a core copies, their words, and those that are made of single bytes; blocks. */
static inline int64_t tw_matmul_panels_work(const tw_matmul_params *p, const tw_product_loops *tile, int32_t cores, double *units) {
  const int64_t a = tw_up(tile->m, TW_PANEL), b = tw_up(tile->n, TW_PANEL), words = tw_up(tile->k, 4), matrices = tile->rest;
  const int64_t rows = tw_up(matrices * TW_PANEL * a, cores), columns = tw_up(matrices * TW_PANEL * b, cores);
  const int is_part = tile->k % TW_PANEL != 0;
  const int64_t single = (p->a_column != 1 || is_part ? rows : 0) + (p->b_row != 1 || is_part ? columns : 0);
  const tw_block_units blocks = tw_blocks_of(p->requantised, &p->requant, matrices * a * b, words, cores);
  TW_UNITS(1, rows + columns, (rows + columns) * words, single * words, TW_BLOCKS(blocks));
}

/* The call and its groups; filters that a core copies and their words; windows, their runs, words, and those that are made of
 * single bytes; blocks of all groups together. */
static inline int64_t tw_conv_panels_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const int64_t pixels = tile->n * tile->y * tile->x, words = tw_up(tile->c * tile->r * tile->s, 4);
  const int is_one_run = p->dilation_w == 1 && tile->g == 1;
  const int64_t runs = is_one_run ? tile->r : tile->r * tile->s, run = is_one_run ? tile->s * tile->c : tile->c;
  const int64_t copied = tile->g * tw_up(tile->f, cores), windows = tile->g * tw_up(pixels, cores);
  const int64_t all = tile->g * tw_up(pixels, TW_PANEL) * tw_up(tile->f, TW_PANEL);
  const tw_block_units blocks = tw_blocks_of(p->requantised, &p->requant, all, words, cores);
  TW_UNITS(1, tile->g, copied, copied * words, windows, windows * runs, windows * words, run % TW_PANEL ? windows * words : 0,
           TW_BLOCKS(blocks));
}

/* The call; pixels of four channels that a core has, and their taps. */
static inline int64_t tw_depthwise_quads_work(const tw_conv_params *p, const tw_conv_loops *tile, int32_t cores, double *units) {
  const int64_t own = tw_up(tw_up(tile->g, TW_PANEL) * tile->n * tile->y * tile->x, cores);
  (void)p;
  TW_UNITS(1, own, own * tile->r * tile->s);
}

#endif
