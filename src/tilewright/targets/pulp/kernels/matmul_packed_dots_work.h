/* Units of work of products with packed weights, and of those that only look for the best word: of the core that has most. */
#ifndef TW_MATMUL_PACKED_DOTS_WORK_H
#define TW_MATMUL_PACKED_DOTS_WORK_H

#include "argmaxmatmul.h"
#include "columns.h"
#include "matmul_packed.h"
#include "packed_rows.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* Blocks of words, words of a block, bytes of a word; rows. */
typedef struct {
  int64_t j, r, k, rest;
} tw_argmax_loops;

/* Whether totals are requantised in 64 bits, as far as that is known here; columns.h has the rules. */
static inline int tw_packed_is_exact(const tw_requant *r, int32_t y_bytes, int32_t y_signed, int32_t add_bytes) {
  if (y_bytes == 2) return TW_IS_TFLITE(r) || add_bytes;
  if (TW_IS_TFLITE(r) || !tw_clips_at_once(r, y_signed)) return 1;
  return r->shift > TW_LARGEST_SHIFT ? r->shift <= 32 || add_bytes : r->rounding == TW_HALF_EVEN;
}

/* The call and the sums of its rows; strips of four columns, and those with factors of their own; rows of them, their codes, those of
 * rows that do not begin at words, and those with a word that is not whole; results of fewer bits, made in 32 bits and in 64. */
static inline int64_t tw_matmul_packed_dots_work(const tw_matmul_packed_params *p, const tw_product_loops *tile, int32_t cores,
                                                 int32_t y_bytes, int32_t y_signed, int32_t add_bytes, double *units) {
  const int64_t rows = tile->m * tile->k * tile->rest, strips = tw_up(tw_up(tile->n, 4), cores), rest = p->inner % (32 / p->bits);
  const int64_t blocks = strips * tw_up(rows, TW_ROWS), own = strips * rows, codes = own * (p->inner - rest);
  const int exact = p->requantised && tw_packed_is_exact(&p->requant, y_bytes, y_signed, add_bytes);
  TW_UNITS(1, p->least ? rows * p->inner : 0, blocks, p->mul_step || p->add_step ? blocks : 0, own, codes,
           rows > 1 && p->inner % 4 ? codes : 0, rest ? own : 0, p->requantised && !exact ? own : 0, exact ? own : 0);
}

/* The call; blocks of words, their strips of four words, the bytes along these, four at a time; strips whose totals do not begin at
 * zero; and words that are requantised in 64 bits. */
static inline int64_t tw_argmaxmatmul_dots_work(const tw_argmaxmatmul_params *p, const tw_argmax_loops *tile, int32_t cores,
                                                int32_t best_bytes, int32_t c_bytes, int32_t add_bytes, double *units) {
  const int64_t blocks = tw_up(tile->rest * tile->j, cores), strips = blocks * tw_up(tile->r, 4);
  (void)p;
  TW_UNITS(1, blocks, strips, strips * tw_up(tile->k, 4), c_bytes ? strips : 0, add_bytes || best_bytes != 2 ? blocks * tile->r : 0);
}

#endif
