/* y[i, :] = w[indices[i], :], with weights w in blocks */
#include "block_gather.h"

#include "block_formats.h"
#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_block_gather
#define TW_INDICES int32_t
#endif

void TW_NAME(const tw_block_gather_params *params, const uint8_t *w, const TW_INDICES *indices, float *y) {
  for (int32_t i = 0; i < params->count; i++, y += params->inner) {
    const int64_t row = tw_position(indices[i], params->length);
    tw_block_row((tw_block_format)params->format, w + row * params->row_bytes, params->inner, y);
  }
}
