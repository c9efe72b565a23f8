/* y = x with a border of a constant; all cores together */
#include "pad.h"

#ifndef TW_NAME
#define TW_NAME tw_pad_words_f32
#define TW_X float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "bytes4.h"
#include "walk_from.h"

static void fill(TW_Y *y, int32_t count, TW_Y border) {
  if (sizeof border == 1) {
    tw_fill_run((uint8_t *)y, (int32_t)border, count);
    return;
  }
  for (int32_t i = 0; i < count; i++) y[i] = border;
}

void TW_NAME(const tw_pad_params *params, const TW_X *x, TW_Y *y) {
#if TW_X_IS_FLOAT
  const TW_Y border = params->value;
#else
  const TW_Y border = (TW_Y)params->integer;
#endif
  const int32_t last = params->rank - 1, length = params->size[last], step = params->stride[last];
  const tw_share all = tw_share_in_blocks(params->count, 16);
  const tw_share rows = tw_share_of(tw_walk_length(last, params->size));
  fill(y + all.first, all.end - all.first, border);
  tw_barrier();
  if (rows.first >= rows.end) return;
  int32_t at[TW_MAX_RANK];
  int32_t offset = params->start + tw_walk_from(last, params->size, params->stride, rows.first, at);
  for (int32_t row = rows.first; row < rows.end; row++) {
    if (step == 1) {
      tw_copy_run((uint8_t *)(y + offset), (const uint8_t *)(x + row * length), length * (int32_t)sizeof *y);
    } else {
      for (int32_t i = 0; i < length; i++) y[offset + i * step] = (TW_Y)x[row * length + i];
    }
    tw_walk(last, params->size, params->stride, at, &offset);
  }
}
