/* y = x with one row written at a position, rotated; where y is x, nothing else is touched. An item for each of its
 * elements. */
#include "gpu.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_write_turned
#define TW_X float
#define TW_ROWS float
#define TW_COSINE float
#define TW_SINE float
#define TW_Y float
#endif
#include "gpu_stored.h"
#include "gpu_turn.h"
#include "gpu_write_turned.h"
#ifndef TW_ROWS_LOAD
#define TW_ROWS_LOAD(element) (element)
#endif

static inline tw_grid grid(const tw_gpu_write_turned_params *params) { return tw_items(params->length); }

TW_GPU void group(const tw_gpu_write_turned_params *params, const TW_X *x, const TW_ROWS *rows,
                  const int32_t *position, const TW_COSINE *cosine, const TW_SINE *sine, TW_Y *y) {
  const int32_t first = tw_clamp(position[0], 0, params->held) * params->length, all = params->held * params->length;
  const int32_t is_elsewhere = (const void *)x != (const void *)y;
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (i < params->length && first < all) {
      const int32_t at = i % params->row, away = tw_other(at, params->row, params->interleaved);
      y[first + i] = TW_Y_STORE(tw_turned(TW_ROWS_LOAD(rows[i]), TW_ROWS_LOAD(rows[i + away]), away,
                                          TW_COSINE_LOAD(cosine[at]), TW_SINE_LOAD(sine[at])));
    }
    for (int32_t at = i; is_elsewhere && at < all; at += TW_GROUPS_X * TW_GROUP_SIZE) {
      if (at < first || at >= first + params->length) y[at] = x[at];
    }
  }
}

TW_GPU_KERNEL(tw_gpu_write_turned_params,
              (const TW_X *x, const TW_ROWS *rows, const int32_t *position, const TW_COSINE *cosine,
               const TW_SINE *sine, TW_Y *y),
              (x, rows, position, cosine, sine, y))
