/* y = x with rows written from a position on; where y is x, nothing else is touched. An item for each new element. */
#include "gpu.h"
#include "write_rows.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_write_rows
#define TW_X float
#define TW_ROWS float
#define TW_Y float
#endif

static inline int32_t written(const tw_write_rows_params *p) { return p->rows * p->length; }

static inline tw_grid grid(const tw_write_rows_params *params) { return tw_items(written(params)); }

TW_GPU void group(const tw_write_rows_params *params, const TW_X *x, const TW_ROWS *rows, const int32_t *position,
                  TW_Y *y) {
  const int32_t first = tw_clamp(position[0], 0, params->held) * params->length, all = params->held * params->length;
  const int32_t end = first + written(params) < all ? first + written(params) : all;
  const int32_t is_elsewhere = (const void *)x != (const void *)y;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (first + i < end && i < written(params)) y[first + i] = rows[i];
    for (int32_t at = i; is_elsewhere && at < all; at += TW_GROUPS_X * TW_GROUP_SIZE) {
      if (at < first || at >= end) y[at] = x[at];
    }
  }
}

TW_GPU_KERNEL(tw_write_rows_params, (const TW_X *x, const TW_ROWS *rows, const int32_t *position, TW_Y *y),
              (x, rows, position, y))
