/* y[i, :] = w[indices[i], :], with weights in blocks; an item for each quarter of 32 neighbours. A header of a format
 * comes before. */
#include "gather.h"
#include "gpu_block_gather.h"
#ifndef TW_NAME
#define TW_NAME tw_gpu_block_gather
#define TW_INDICES int32_t
#include "gpu_block_q4_0.h"
#endif

#include "gpu_block.h"

static inline int32_t quarters(const tw_gpu_block_gather_params *p) { return p->count * (p->inner / 8); }

static inline tw_grid grid(const tw_gpu_block_gather_params *params) { return tw_items(quarters(params)); }

TW_GPU void group(const tw_gpu_block_gather_params *params, const uint8_t *w, const TW_INDICES *indices, float *y) {
  TW_ITEMS(t) {
    const int32_t own = TW_GROUP_X * TW_GROUP_SIZE + t, in_row = params->inner / 8;
    if (own < quarters(params)) {
      const int32_t at = own % in_row / 4 * TW_BLOCK, quarter = own % 4;
      const int64_t row = tw_position(indices[own / in_row], params->length);
      float *const to = y + (int64_t)(own / in_row) * params->inner + at + 4 * quarter, some[8];
      tw_quarter_at((const TW_WEIGHT *)(w + row * params->row_bytes), params->inner, at, quarter, some);
      TW_UNROLL for (int32_t i = 0; i < 4; i++) {
        to[i] = some[i];
        to[16 + i] = some[4 + i];
      }
    }
  }
}

TW_GPU_KERNEL(tw_gpu_block_gather_params, (const uint8_t *w, const TW_INDICES *indices, float *y), (w, indices, y))
