/* The steps of quantised GRU cells, with products before the reset; see qlstm_steps.h for what has to be there. The state
 * is what an LSTM's memory is there, with 15 bits behind the point. */
#ifndef TW_QGRU_STEPS_H
#define TW_QGRU_STEPS_H

#include "qlstm_steps.h"

static inline int8_t tw_qgru_output(const tw_qlstm_params *p, int32_t state) {
  const int32_t out = tw_shifted_word(state, p->out.mul, p->out.requant.shift) + p->out.requant.zero_point;
  return (int8_t)tw_clamp(out, p->out.requant.low, p->out.requant.high);
}

/* A total as a sum of a gate, for itself. */
static inline int32_t tw_qgru_term(int32_t x, int32_t up, int32_t mul, int32_t down) {
  x = tw_shifted_left(x, up);
  if (down > 32) return tw_saturate16(tw_shifted_word(x, mul, down));
  const int64_t term = tw_shifted(x, mul, down);
  return (int32_t)(term < -32768 ? -32768 : term > 32767 ? 32767 : term);
}

static inline void tw_qgru_cell(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with,
                                const int32_t *x, int16_t *c, int8_t *h) {
  const int32_t hidden = p->hidden;
  const int32_t *sums = u->sums;
  for (int32_t i = u->first; i < u->end; i++) {
    const int32_t at = 2 * hidden + i, mx = with->mx[p->x_factors > 1 ? at : 0], mr = with->mr[p->r_factors > 1 ? at : 0];
    const int32_t update = tw_looked_up(with->sigmoid, tw_qlstm_sum(p, with, x[i], sums[i], i));
    const int32_t reset =
        tw_looked_up(with->sigmoid, tw_qlstm_sum(p, with, x[hidden + i], sums[hidden + i], hidden + i));
    const int32_t product = tw_qgru_term(sums[at] + (with->bias ? with->bias[at] : 0), p->r_up, mr, p->r_down);
    const int32_t kept = (reset * product + 16384) >> 15;
    const int32_t new = tw_looked_up(with->tanh, tw_saturate16(tw_qgru_term(x[at], p->x_up, mx, p->x_down) + kept));
    c[i] = (int16_t)tw_saturate16((update * c[i] + (32768 - update) * new + 16384) >> 15);
    h[i] = tw_qgru_output(p, c[i]);
  }
}

static inline void tw_qgru_step(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with,
                                int32_t t) {
  const int32_t hidden = p->hidden;
  for (int32_t b = 0; b < p->batch; b++) {
    const int32_t at = t * p->batch + b, is_over = with->lengths && t >= with->lengths[b];
    const int8_t *now = u->now + b * hidden;
    int8_t *next = u->next + b * hidden, *y = with->y ? with->y + at * hidden : 0;
    if (!is_over) {
      for (int32_t gate = 0; gate < 3; gate++) {
        tw_byte_dots(with->r + gate * hidden * hidden, now, hidden, u->first, u->end, u->sums + gate * hidden);
      }
      tw_qgru_cell(p, u, with, with->x + at * 3 * hidden, u->c + b * hidden, next);
    }
    for (int32_t i = u->first; i < u->end; i++) {
      if (is_over) next[i] = now[i];
      if (y) y[i] = is_over ? (int8_t)p->out.requant.zero_point : next[i];
    }
  }
}

static inline void tw_qgru_steps(const tw_qlstm_params *p, tw_qlstm_units u, const tw_qlstm_tensors *with) {
  tw_qlstm_begin(p, &u, with);
  for (int32_t b = 0; b < p->batch; b++) {
    for (int32_t i = b * p->hidden + u.first; i < b * p->hidden + u.end; i++) u.now[i] = tw_qgru_output(p, u.c[i]);
  }
  for (int32_t step = 0; step < p->steps; step++) {
    TW_MEET();
    tw_qgru_step(p, &u, with, p->reverse ? p->steps - 1 - step : step);
    int8_t *now = u.now;
    u.now = u.next;
    u.next = now;
  }
  tw_qlstm_give(p, &u, with);
}

#endif
