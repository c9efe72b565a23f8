/* Units of work of kernels that go element by element, or row by row: of the core that has most. */
#ifndef TW_ELEMENTS_WORK_H
#define TW_ELEMENTS_WORK_H

#include "binary.h"
#include "extreme.h"
#include "isoftmax_bytes.h"
#include "qlinearadd_dots.h"
#include "qlineargather.h"
#include "qlinearrotate_rows.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* Columns of a row; rows. */
typedef struct {
  int64_t c, rest;
} tw_row_loops;

/* The call; elements of one core; elements of all, because there is one divider. */
static inline int64_t tw_quotient_work(const tw_binary_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  (void)p;
  TW_UNITS(1, (double)tile->rest / cores, tile->rest);
}

/* The call, and four elements of one core at a time. */
static inline int64_t tw_qlinearadd_dots_work(const tw_qlinearadd_dots_params *p, const tw_all_loops *tile, int32_t cores,
                                              double *units) {
  (void)p;
  TW_UNITS(1, tw_up(tw_up(tile->rest, cores), 4));
}

/* The call, and the elements that one core looks at. */
static inline int64_t tw_argmax_row_work(const tw_extreme_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  (void)p;
  TW_UNITS(1, (double)tile->rest / cores);
}

/* The call; rows, and their elements, of one core. */
static inline int64_t tw_qlineargather_work(const tw_qlineargather_params *p, const tw_row_loops *tile, int32_t cores, double *units) {
  (void)p;
  TW_UNITS(1, (double)tile->rest / cores, (double)(tile->rest * tile->c) / cores);
}

/* The call, rows, their elements, those whose products with a reciprocal do not fit 32 bits, and what is left of words. */
static inline int64_t tw_isoftmax_bytes_work(const tw_isoftmax_bytes_params *p, const tw_all_loops *tile, int32_t cores, double *units) {
  const int64_t own = tw_up(tile->rest / p->length, cores), elements = own * p->length;
  TW_UNITS(1, own, elements, p->tables.exponentials[255] >= 1u << TW_SHORT_BITS ? elements : 0, own * (p->length % 4));
}

/* The call, rows that a core has a part of, and pairs that are its own. */
static inline int64_t tw_qlinearrotate_rows_work(const tw_qlinearrotate_rows_params *p, const tw_all_loops *tile, int32_t cores,
                                                 double *units) {
  const int64_t rows = p->length ? tile->rest / p->length : tile->rest, pairs = p->length / 2, own = tw_up(rows, cores);
  if (rows < cores) TW_UNITS(1, rows, rows * tw_up(pairs, cores));
  TW_UNITS(1, own, own * pairs);
}

#endif
