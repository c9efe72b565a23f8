/* What matrix products work on at a time, and the bytes of working memory that they need for it. */
#ifndef TW_MATMUL_SIZES_H
#define TW_MATMUL_SIZES_H

#include "matmul.h"

#define TW_ROWS 4
#define TW_COLUMNS 32

/* Rows of the panel; with TW_COLUMNS elements each they fit a level-1 cache. */
#define TW_FLOAT_ROWS 256
#define TW_BYTE_ROWS 1024

static inline int64_t tw_panel_of(const tw_matmul_params *p, int32_t most) {
  return (int64_t)TW_COLUMNS * tw_min(p->inner, most);
}

/* Whether b is copied although it is stored in the type in which it is multiplied: where it is narrow, or stored column
 * by column. */
static inline int tw_b_is_copied(const tw_matmul_params *p) { return p->columns < TW_COLUMNS || p->b_column != 1; }

/* A copy of some columns of b. */
static inline int64_t tw_matmul_f32_scratch(const tw_matmul_params *p) {
  return tw_b_is_copied(p) ? 4 * tw_panel_of(p, TW_FLOAT_ROWS) : 0;
}

static inline int64_t tw_matmul_int8_scratch(const tw_matmul_params *p) {
  return tw_b_is_copied(p) ? tw_panel_of(p, TW_BYTE_ROWS) : 0;
}

/* A copy of some columns of b as floats. */
static inline int64_t tw_matmul_half_scratch(const tw_matmul_params *p) { return 4 * tw_panel_of(p, TW_FLOAT_ROWS); }

/* A row in 16 bits. */
static inline int64_t tw_matmul_dot_scratch(const tw_matmul_params *p) { return 2 * (int64_t)p->inner; }

#endif
