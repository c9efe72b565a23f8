/* The steps of recurrent cells. Whoever computes units `first` to `end` of the hidden ones includes this; before it come
 *   TW_MEET()  waits until the others have come here too (nothing where one core has all units),
 *   tw_dots(r, h, hidden, first, end, sums)  adds products of rows first..end of r with h to sums[first..end],
 *   tw_sigmoid and tw_tanh.
 * The state h is there twice, so that it is read while the next one is written. */
#ifndef TW_RECURRENT_STEPS_H
#define TW_RECURRENT_STEPS_H

#include "gate_functions.h"

/* What one core computes, and where it keeps things: h twice, c, and the gates of one sequence. */
typedef struct {
  int32_t first, end;
  float *now, *next;
  float *c;
  float *gates;
} tw_units;

static inline tw_units tw_units_of(const tw_recurrent_params *p, int32_t first, int32_t end, int32_t has_c, void *scratch) {
  tw_units units;
  const int32_t all = p->batch * p->hidden;
  units.first = first;
  units.end = end;
  units.now = scratch;
  units.next = units.now + all;
  units.c = units.next + all;
  units.gates = units.c + (has_c ? all : 0);
  return units;
}

static inline void tw_copy_units(const float *from, int32_t first, int32_t end, float *to) {
  for (int32_t i = first; i < end; i++) to[i] = from[i];
}

/* The state to begin with; sequences of no steps have none. */
static inline void tw_begin(const tw_recurrent_params *p, const tw_units *u, const float *given, const int32_t *lengths,
                            float *state) {
  for (int32_t b = 0; b < p->batch; b++) {
    const int32_t is_zero = !given || (lengths && lengths[b] == 0);
    for (int32_t i = u->first; i < u->end; i++) state[b * p->hidden + i] = is_zero ? 0.0f : given[b * p->hidden + i];
  }
}

/* The last state, where somebody wants it. */
static inline void tw_give(const tw_recurrent_params *p, const tw_units *u, const float *state, float *to) {
  if (!to) return;
  for (int32_t b = 0; b < p->batch; b++) {
    tw_copy_units(state + b * p->hidden, u->first, u->end, to + b * p->hidden);
  }
}

/* Sums of one gate: the step's input, and products with the state, given or to be computed. */
static inline void tw_gate_sums(const tw_recurrent_params *p, const tw_units *u, int32_t gate, const float *x,
                                const float *r, const float *h, const float *s, float *sums) {
  const int32_t hidden = p->hidden, at = gate * hidden;
  for (int32_t i = u->first; i < u->end; i++) sums[i] = (x ? x[at + i] : 0.0f) + (s ? s[at + i] : 0.0f);
  if (!s) tw_dots(r + at * hidden, h, hidden, u->first, u->end, sums);
}

/* All sequences of one step that have ended keep their state and give 0; others are left to the cells. */
static inline int32_t tw_has_ended(const tw_recurrent_params *p, const tw_units *u, const int32_t *lengths, int32_t t,
                                   int32_t b, float *y) {
  if (!lengths || t < lengths[b]) return 0;
  const int32_t at = b * p->hidden;
  tw_copy_units(u->now + at, u->first, u->end, u->next + at);
  if (!y) return 1;
  for (int32_t i = u->first; i < u->end; i++) y[i] = 0.0f;
  return 1;
}

static inline void tw_swap(tw_units *u) {
  float *now = u->now;
  u->now = u->next;
  u->next = now;
}

#endif
