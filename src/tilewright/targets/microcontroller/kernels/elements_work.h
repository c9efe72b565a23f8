/* Units of work of requantisations and of sums of quantised tensors. */
#ifndef TW_ELEMENTS_WORK_H
#define TW_ELEMENTS_WORK_H

#include "byte_sums_sizes.h"
#include "qlinearmul.h"
#include "requantshift.h"
#include "tile_loops.h"
#include "units_of_work.h"

/* Whether a total becomes a result by the upper word, by a short shift or in two steps. */
static inline int tw_is_short(const tw_requant *r) {
  if (TW_IS_TFLITE(r)) return r->rounding == TW_DOUBLE;
  return r->shift > 32 || r->rounding == TW_HALF_UP;
}

/* The call; tables, where they are worth it; rows; sums with and without them, the former by the last rounding. */
static inline int64_t tw_sums_work(const tw_binary_params *loops, const tw_requant *last, double *units) {
  const int64_t sums = tw_sums_of(loops), rows = loops->rank ? sums / tw_max(loops->size[loops->rank - 1], 1) : 1;
  const int tables = sums >= TW_WORTH_TABLES, is_short = tw_is_short(last);
  TW_UNITS(1, tables, rows, sums * (tables && is_short), sums * (tables && !is_short), sums * !tables);
}

static inline int64_t tw_tfliteadd_bytes_work(const tw_tfliteadd_params *p, double *units) {
  return tw_sums_work(&p->loops, &p->requant, units);
}

static inline int64_t tw_requantizedadd_bytes_work(const tw_requantizedadd_params *p, double *units) {
  return tw_sums_work(&p->loops, &p->out.requant, units);
}

/* The call; rows; products of rows with one element, and of elements side by side, by the upper word; all others. */
static inline int64_t tw_qlinearmul_rows_work(const tw_qlinearmul_params *p, const tw_all_loops *tile, double *units) {
  const tw_binary_params *const loops = &p->loops;
  const int32_t last = loops->rank - 1;
  const int64_t all = tile->rest, rows = tw_up(all, tw_max(loops->size[last], 1));
  const int is_upper = !TW_IS_TFLITE(&p->requant) && p->requant.shift > 32 && p->add == 0 && loops->stride_a[last] == 1;
  const int is_fixed = is_upper && loops->stride_b[last] == 0, is_beside = is_upper && loops->stride_b[last] == 1;
  TW_UNITS(1, rows, all * is_fixed, all * is_beside, all * (!is_fixed && !is_beside));
}

/* The call; rows of a channel; results of short shifts, and all others. */
static inline int64_t tw_requantshift_rows_work(const tw_requantshift_params *p, double *units) {
  const int64_t rows = (int64_t)p->outer * p->requant.channels, results = rows * p->inner;
  const int is_near = p->requant.rounding == TW_HALF_UP && p->requant.shift > 0 && p->requant.shift < 32;
  TW_UNITS(1, rows, results * is_near, results * !is_near);
}

#endif
