/* The function of a kernel that adds two tensors by N-EUREKA: a depthwise convolution over both. Its rows are half as far
 * apart as the tensors, so that two rows below an element of A lies that of B. */
#ifndef TW_NEUREKA_SUM_CALL_H
#define TW_NEUREKA_SUM_CALL_H

#include "neureka_sum.h"
#include "xpulp.h"

#define TW_SUM_LANES 28 /* elements of a pixel */
#define TW_SUM_SIDE 6   /* pixels of a row of the array */

typedef struct {
  uint32_t a, w, scale, bias, y;
  int32_t registers[TW_NEUREKA_REGISTERS];
} tw_sum_job;

/* One or two rows of pixels, from element `first` on; the second lies a step between rows further. */
static void tw_sum_submit(tw_sum_job *j, int32_t first, int32_t rows, int32_t pixels, int32_t lanes) {
  const int32_t tiles = (pixels + TW_SUM_SIDE - 1) / TW_SUM_SIDE, last = pixels - TW_SUM_SIDE * (tiles - 1);
  j->registers[1] = j->registers[2] = first;
  j->registers[15] = lanes << 16 | lanes;
  j->registers[16] = rows << 16 | last;
  j->registers[17] = (rows + 2) << 16 | last;
  j->registers[19] = 1 << 16 | tiles;
  tw_neureka_job(j->registers, j->a, j->w, j->scale, 0, j->bias, j->y);
}

/* Some elements of each row: whole pixels, then what is left. */
static void tw_sum_rows(tw_sum_job *j, int32_t first, int32_t rows, int32_t elements) {
  if (elements <= 0) return;
  const int32_t pixels = elements / TW_SUM_LANES, left = elements - pixels * TW_SUM_LANES;
  if (pixels > 0) tw_sum_submit(j, first, rows, pixels, TW_SUM_LANES);
  if (left > 0) tw_sum_submit(j, first + pixels * TW_SUM_LANES, rows, 1, left);
}

void TW_NAME(const tw_neureka_sum_params *params, const TW_A *a, const TW_B *b, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, TW_Y *y) {
  const int32_t apart = (int32_t)((uint32_t)(uintptr_t)b - (uint32_t)(uintptr_t)a), count = params->count;
  tw_sum_job j;
  j.a = (uint32_t)(uintptr_t)a, j.w = (uint32_t)(uintptr_t)w - TW_WEIGHT_MEMORY, j.scale = (uint32_t)(uintptr_t)scale;
  j.bias = (uint32_t)(uintptr_t)bias, j.y = (uint32_t)(uintptr_t)y;
  for (int i = 0; i < TW_NEUREKA_REGISTERS; i++) j.registers[i] = params->registers[i];
  if (apart & 1) {
    j.registers[7] = apart, j.registers[22] = params->near_mask;
    tw_sum_rows(&j, 0, 1, count);
    return;
  }
  const int32_t half = (apart < 0 ? -apart : apart) >> 1, paired = tw_x_max(0, tw_x_min(half, count - half));
  j.registers[7] = j.registers[11] = apart / 2;
  tw_sum_rows(&j, apart < 0 ? half : 0, 2, paired);
  tw_sum_rows(&j, paired, 1, tw_x_min(half, count) - paired);
  tw_sum_rows(&j, half + paired, 1, count - half - paired);
}

#endif
