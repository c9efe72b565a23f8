/* y = x[0], x[1], ... one after the other along an axis; all cores together */
#include "concat.h"

#ifndef TW_NAME
#define TW_NAME tw_concat_words_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "shared_rows.h"

static int32_t whole_row(const tw_concat_params *params) {
  int32_t length = 0;
  for (int32_t part = 0; part < params->count; part++) length += params->length[part];
  return length;
}

void TW_NAME(const tw_concat_params *params, const TW_X *const *x, TW_Y *y) {
  const int32_t pitch = whole_row(params);
  for (int32_t part = 0; part < params->count; part++) {
    const int32_t length = params->length[part];
    const tw_shared_rows mine = tw_share_rows(params->rows, length * (int32_t)sizeof *y);
    for (int32_t row = mine.rows.first; row < mine.rows.end; row++) {
      tw_copy_part(y + row * pitch, x[part] + row * length, mine.bytes);
    }
    y += length;
  }
}
