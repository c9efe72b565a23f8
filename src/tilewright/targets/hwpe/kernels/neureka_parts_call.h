/* The functions of the cores that copy an image with its padding, of a kernel that hands parts of windows to N-EUREKA, and of
 * the cores that add them up and finish. */
#ifndef TW_NEUREKA_PARTS_CALL_H
#define TW_NEUREKA_PARTS_CALL_H

#include "neureka_finish.h"
#include "neureka_gathering.h"
#include "neureka_parts.h"
#include "neureka_sums.h"

/* What a group of channels of an image begins at. */
typedef struct {
  const int32_t *registers;
  uint32_t x, w, scale, bias, y;
} tw_group_start;

static inline void tw_parts_of_group(const tw_neureka_parts *p, const tw_group_start *s) {
  uint32_t w = s->w, y = s->y, bias = s->bias;
  for (int32_t row = 0; row < p->rows; row++) {
    uint32_t x = s->x + (uint32_t)(row * p->x_row);
    for (int32_t column = 0; column < p->columns; column++) {
      tw_neureka_job(s->registers, x, w, s->scale, 0, bias, y);
      x += (uint32_t)p->x_column, w += (uint32_t)p->w_part, y += (uint32_t)p->y_part;
      bias = s->bias + (uint32_t)p->bias_row;
    }
  }
}

void TW_NAME(const tw_neureka_parts_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
             const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  const tw_neureka_params *const start = &params->finished.start;
  const tw_neureka_parts *const p = &params->parts;
  const uint32_t image = (uint32_t)(uintptr_t)scratch, totals = image + (uint32_t)tw_gather_bytes(&params->gather);
  const int multiplies = tw_neureka_multiplies(&params->finished);
  const uint32_t scales = (uint32_t)(uintptr_t)(multiplies ? (const void *)scale : bias + params->finished.ones);
  (void)x, (void)add, (void)y;
  for (int32_t i = 0; i < start->batch; i++) {
    tw_group_start s = {start->registers, image + (uint32_t)(i * start->x_step), (uint32_t)(uintptr_t)w - TW_WEIGHT_MEMORY,
                        scales, (uint32_t)(uintptr_t)bias, totals + (uint32_t)(i * start->y_step)};
    for (int32_t group = 0; group < p->groups; group++) {
      if (group == p->groups - 1) s.registers += TW_NEUREKA_REGISTERS;
      tw_parts_of_group(p, &s);
      s.x += (uint32_t)p->channels, s.scale += (uint32_t)(p->channels * p->scale_bytes);
      s.y += 4 * (uint32_t)p->channels, s.bias += 4 * (uint32_t)p->channels;
      s.w += (uint32_t)(p->rows * p->columns * p->w_part);
    }
  }
}

void TW_GATHER(const tw_neureka_parts_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  (void)w, (void)scale, (void)bias, (void)add, (void)y;
  tw_gather(&params->gather, x, scratch);
}

/* Into the first part, what is finished of it. */
static inline void tw_sum_parts(const tw_neureka_parts_params *params, int32_t *totals) {
  const tw_neureka_finished_params *const f = &params->finished;
  const int32_t step = params->parts.y_part, others = params->parts.rows * params->parts.columns - 1;
  const int32_t pixels = f->images * f->rows * f->columns;
  const int is_dense = f->columns == 1 && f->source_row == f->filters;
  const tw_share share = tw_share_of(is_dense ? pixels * f->filters : pixels);
  if (is_dense) {
    tw_sum_run(totals + share.first, step, others, share.end - share.first);
    return;
  }
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t row = (int32_t)((uint32_t)i / (uint32_t)f->columns), image = (int32_t)((uint32_t)row / (uint32_t)f->rows);
    int32_t *const pixel = totals + image * f->source_image + (row - image * f->rows) * f->source_row +
                           (i - row * f->columns) * f->source_pixel;
    tw_sum_run(pixel, step, others, f->filters);
  }
}

void TW_FINISH(const tw_neureka_parts_params *params, const TW_X *x, const uint8_t *w, const TW_SCALE *scale,
               const int32_t *bias, const int32_t *add, TW_Y *y, void *scratch) {
  int32_t *const totals = (int32_t *)(void *)((uint8_t *)scratch + tw_gather_bytes(&params->gather));
  (void)x, (void)w;
  if (sizeof(TW_Y) <= 2 && params->finished.mode == TW_FINISH_MULTIPLIED) {
    const int32_t others = params->parts.rows * params->parts.columns - 1;
    tw_finish_multiplied(&params->finished, totals, bias, y, params->parts.y_part, others);
    return;
  }
  tw_sum_parts(params, totals);
  tw_barrier();
  tw_finish_all(&params->finished, (const int32_t *)(const void *)scale, bias, add, y, totals);
}

#endif
