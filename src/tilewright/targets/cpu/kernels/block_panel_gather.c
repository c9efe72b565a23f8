/* y[i, :] = w[indices[i], :], with weights w in panels of blocks */
#include "block_panel_gather.h"

#include "block_formats.h"
#include "gather.h"

#ifndef TW_NAME
#define TW_NAME tw_block_panel_gather
#define TW_INDICES int32_t
#endif

typedef struct {
  float scale[2], least; /* of each half of a block */
} tw_row_scales;

static tw_row_scales scales_of(const tw_block_panel_gather_params *p, const uint8_t *panel, int32_t row,
                               int32_t block) {
  const int32_t rows = p->panel;
  tw_row_scales s;
  s.least = 0.0f;
  if (p->format <= TW_BLOCK_Q8_0) {
    const int32_t moved = p->format == TW_BLOCK_Q4_1 || p->format == TW_BLOCK_Q5_1;
    const uint8_t *const own = panel + 2 * rows * block * (1 + moved) + 2 * row;
    s.scale[0] = s.scale[1] = tw_block_half(own);
    if (moved) s.least = tw_block_half(own + 2 * rows);
  } else if (p->format == TW_BLOCK_Q6_K) {
    const uint8_t *const of_eight = panel + 18 * rows * (block / 8), *const own = of_eight + (2 + 2 * (block % 8)) * rows;
    s.scale[0] = tw_block_half(of_eight + 2 * row) * (float)(int8_t)own[row];
    s.scale[1] = tw_block_half(of_eight + 2 * row) * (float)(int8_t)own[rows + row];
  } else {
    const uint8_t *const of_eight = panel + 20 * rows * (block / 8), *const own = of_eight + (4 + 2 * (block % 8)) * rows;
    s.scale[0] = s.scale[1] = tw_block_half(of_eight + 2 * row) * (float)own[row];
    s.least = -tw_block_half(of_eight + 2 * rows + 2 * row) * (float)own[rows + row];
  }
  return s;
}

/* Of element k of a block of 32, whose pieces are four bytes of each row. */
static int32_t level_of(const tw_block_panel_gather_params *p, const uint8_t *block, int32_t row, int32_t k) {
  const int32_t piece = 4 * p->panel, four = k / 4, at = p->is_apart ? k % 4 * p->panel + row : 4 * row + k % 4;
  if (p->bits == 8) return block[four * piece + at];
  const int32_t both = block[four % 4 * piece + at];
  const int32_t low = four < 4 ? both & 15 : both >> 4;
  if (p->bits == 5) return low | (block[4 * piece + at] >> four & 1) << 4;
  if (p->bits == 6) return low | (block[(4 + four / 4) * piece + at] >> 2 * (four % 4) & 3) << 4;
  return low;
}

static void look_up(const tw_block_panel_gather_params *p, const uint8_t *panel, int32_t row, float *y) {
  const uint8_t *levels = panel + p->scale_bytes;
  if (p->format == TW_BLOCK_F16 || p->format == TW_BLOCK_BF16) {
    for (int32_t k = 0; k < p->inner; k++) {
      const uint16_t half = tw_block_bits(levels + 2 * ((int64_t)k * p->panel + row));
      y[k] = p->format == TW_BLOCK_F16 ? tw_weight_of_float16(half) : tw_weight_of_bfloat16(half);
    }
    return;
  }
  for (int32_t block = 0; block < p->inner / TW_SMALL_BLOCK; block++, levels += 4 * p->bits * p->panel) {
    const tw_row_scales s = scales_of(p, panel, row, block);
    for (int32_t k = 0; k < TW_SMALL_BLOCK; k++) {
      const int32_t level = level_of(p, levels, row, k), is_signed = p->bits == 8 && p->zero == 0;
      y[TW_SMALL_BLOCK * block + k] =
          s.scale[k / 16] * (float)((is_signed ? (int8_t)level : level) - p->zero) + s.least;
    }
  }
}

void TW_NAME(const tw_block_panel_gather_params *params, const uint8_t *w, const TW_INDICES *indices, float *y) {
  for (int32_t i = 0; i < params->count; i++, y += params->inner) {
    const int32_t word = tw_position(indices[i], params->length);
    look_up(params, w + (int64_t)(word / params->panel) * params->panel_bytes, word % params->panel, y);
  }
}
