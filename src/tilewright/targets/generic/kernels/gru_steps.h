/* The steps of GRU cells; see recurrent_steps.h for what has to be there. */
#ifndef TW_GRU_STEPS_H
#define TW_GRU_STEPS_H

#include "recurrent_steps.h"

/* Sums of the hidden gate where the state's product is reset: a bias of its own is part of that product. */
static inline void tw_gru_linear(const tw_recurrent_params *p, const tw_units *u, const float *x, const float *r,
                                 const float *h, const float *s, const float *bias, const float *reset, float *hidden) {
  tw_gate_sums(p, u, 2, 0, r, h, s, hidden);
  for (int32_t i = u->first; i < u->end; i++) {
    hidden[i] = x[2 * p->hidden + i] + reset[i] * (hidden[i] + (bias ? bias[i] : 0.0f));
  }
}

/* One sequence's update and reset gates and, where it does not need the state of others' units, the hidden one. */
static inline void tw_gru_gates(const tw_recurrent_params *p, const tw_units *u, const float *x, const float *r,
                                const float *h, const float *s, const float *bias, float *gates) {
  const int32_t hidden = p->hidden, first = u->first, end = u->end;
  float *reset = gates + hidden;
  for (int32_t gate = 0; gate < 2; gate++) {
    tw_gate_sums(p, u, gate, x, r, h, s, gates + gate * hidden);
    tw_gate(&p->f, p->clip, gates + gate * hidden, first, end);
  }
  if (p->linear) {
    tw_gru_linear(p, u, x, r, h, s, bias, reset, gates + 2 * hidden);
  } else {
    for (int32_t i = first; i < end; i++) reset[i] *= h[i];
  }
}

/* From all gates to the next state; where the state was reset, its product is still to be added. */
static inline void tw_gru_cell(const tw_recurrent_params *p, const tw_units *u, const float *x, const float *r,
                               const float *h, float *gates, float *to) {
  const int32_t hidden = p->hidden, first = u->first, end = u->end;
  const float *update = gates;
  float *new = gates + 2 * hidden;
  if (!p->linear) tw_gate_sums(p, u, 2, x, r, gates + hidden, 0, new);
  tw_gate(&p->g, p->clip, new, first, end);
  for (int32_t i = first; i < end; i++) to[i] = (1.0f - update[i]) * new[i] + update[i] * h[i];
}

static inline void tw_gru_step(const tw_recurrent_params *p, const tw_units *u, int32_t t, const float *x, const float *r,
                               const int32_t *lengths, const float *bias, const float *s, float *y) {
  const int32_t hidden = p->hidden, row = 3 * hidden;
  for (int32_t b = 0; b < p->batch; b++) {
    const float *h = u->now + b * hidden, *from = x + (t * p->batch + b) * row;
    tw_gru_gates(p, u, from, r, h, s ? s + b * row : 0, bias, u->gates + b * row);
  }
  if (!p->linear) TW_MEET();
  for (int32_t b = 0; b < p->batch; b++) {
    const int32_t at = t * p->batch + b;
    float *to = y ? y + at * hidden : 0;
    if (tw_has_ended(p, u, lengths, t, b, to)) continue;
    tw_gru_cell(p, u, x + at * row, r, u->now + b * hidden, u->gates + b * row, u->next + b * hidden);
    if (to) tw_copy_units(u->next + b * hidden, u->first, u->end, to);
  }
}

static inline void tw_gru_steps(const tw_recurrent_params *p, tw_units u, const float *x, const float *r, const float *h,
                                const int32_t *lengths, const float *bias, const float *s, float *y, float *yh) {
  tw_begin(p, &u, h, lengths, u.now);
  for (int32_t step = 0; step < p->steps; step++) {
    TW_MEET();
    tw_gru_step(p, &u, p->reverse ? p->steps - 1 - step : step, x, r, lengths, bias, s, y);
    tw_swap(&u);
  }
  tw_give(p, &u, u.now, yh);
}

#endif
