/* The steps of LSTM cells; see recurrent_steps.h for what has to be there. */
#ifndef TW_LSTM_STEPS_H
#define TW_LSTM_STEPS_H

#include "recurrent_steps.h"

/* Adds what a gate sees of the cell's memory. */
static inline void tw_peep(const tw_units *u, const float *weights, const float *c, float *sums) {
  if (!weights) return;
  for (int32_t i = u->first; i < u->end; i++) sums[i] += weights[i] * c[i];
}

/* The cell that nearly all networks have: sigmoid and tanh of sums as they are. */
static inline int32_t tw_is_plain_lstm(const tw_recurrent_params *p, const float *peep) {
  return p->f.kind == TW_GATE_SIGMOID && p->g.kind == TW_GATE_TANH && p->h.kind == TW_GATE_TANH && p->clip == 0.0f &&
         !p->coupled && !peep;
}

static inline void tw_plain_lstm_cell(const tw_units *u, int32_t hidden, float *c, float *h) {
  const float *input = u->gates, *output = input + hidden, *forget = output + hidden, *cell = forget + hidden;
  TW_INDEPENDENT
  for (int32_t i = u->first; i < u->end; i++) {
    const float kept = tw_sigmoid(forget[i]) * c[i] + tw_sigmoid(input[i]) * tw_tanh(cell[i]);
    c[i] = kept;
    h[i] = tw_sigmoid(output[i]) * tw_tanh(kept);
  }
}

/* From the sums of the four gates to the next state: gates are input, output, forget, cell. */
static inline void tw_lstm_cell(const tw_recurrent_params *p, const tw_units *u, const float *peep, float *c, float *h) {
  const int32_t hidden = p->hidden, first = u->first, end = u->end;
  if (tw_is_plain_lstm(p, peep)) {
    tw_plain_lstm_cell(u, hidden, c, h);
    return;
  }
  float *input = u->gates, *output = input + hidden, *forget = output + hidden, *cell = forget + hidden;
  tw_peep(u, peep, c, input);
  tw_gate(&p->f, p->clip, input, first, end);
  if (p->coupled) {
    for (int32_t i = first; i < end; i++) forget[i] = 1.0f - input[i];
  } else {
    tw_peep(u, peep ? peep + 2 * hidden : 0, c, forget);
    tw_gate(&p->f, p->clip, forget, first, end);
  }
  tw_gate(&p->g, p->clip, cell, first, end);
  for (int32_t i = first; i < end; i++) c[i] = forget[i] * c[i] + input[i] * cell[i];
  tw_peep(u, peep ? peep + hidden : 0, c, output);
  tw_gate(&p->f, p->clip, output, first, end);
  tw_copy_units(c, first, end, cell);
  tw_gate(&p->h, 0.0f, cell, first, end);
  for (int32_t i = first; i < end; i++) h[i] = output[i] * cell[i];
}

/* The state of all sequences in 256 steps of its range, of which one is zero: each core rounds its own units. */
static inline const float *tw_rounded_state(const tw_recurrent_params *p, const tw_units *u) {
  float *to = u->gates + 4 * p->hidden, low = 0.0f, high = 0.0f;
  for (int32_t i = 0; i < p->batch * p->hidden; i++) low = fminf(low, u->now[i]), high = fmaxf(high, u->now[i]);
  const float range = (high - low) / 255.0f, scale = range > 0.0f ? range : 1.0f, first = rintf(low / scale);
  for (int32_t b = 0; b < p->batch; b++) {
    for (int32_t i = b * p->hidden + u->first; i < b * p->hidden + u->end; i++) {
      to[i] = fminf(fmaxf(rintf(u->now[i] / scale), first), first + 255.0f) * scale;
    }
  }
  TW_MEET();
  return to;
}

static inline void tw_lstm_steps(const tw_recurrent_params *p, tw_units u, const float *x, const float *r, const float *h,
                                 const float *c, const int32_t *lengths, const float *peep, const float *s, float *y,
                                 float *yh, float *yc) {
  const int32_t hidden = p->hidden, row = 4 * hidden;
  tw_begin(p, &u, h, lengths, u.now);
  tw_begin(p, &u, c, lengths, u.c);
  for (int32_t step = 0; step < p->steps; step++) {
    const int32_t t = p->reverse ? p->steps - 1 - step : step;
    TW_MEET();
    const float *state = p->dynamic ? tw_rounded_state(p, &u) : u.now;
    for (int32_t b = 0; b < p->batch; b++) {
      const int32_t at = t * p->batch + b;
      float *to = y ? y + at * hidden : 0;
      if (tw_has_ended(p, &u, lengths, t, b, to)) continue;
      for (int32_t gate = 0; gate < 4; gate++) {
        tw_gate_sums(p, &u, gate, x + at * row, r, state + b * hidden, s ? s + b * row : 0, u.gates + gate * hidden);
      }
      tw_lstm_cell(p, &u, peep, u.c + b * hidden, u.next + b * hidden);
      if (to) tw_copy_units(u.next + b * hidden, u.first, u.end, to);
    }
    tw_swap(&u);
  }
  tw_give(p, &u, u.now, yh);
  tw_give(p, &u, u.c, yc);
}

#endif
