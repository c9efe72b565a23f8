/* The steps of quantised LSTM cells. Whoever computes units `first` to `end` of the hidden ones includes this; before it
 * come TW_MEET(), which waits for the others, and
 *   tw_byte_dots(r, h, hidden, first, end, sums)  products of rows first..end of r with h into sums[first..end].
 * Outputs h are there twice, so that they are read while the next ones are written. */
#ifndef TW_QLSTM_STEPS_H
#define TW_QLSTM_STEPS_H

#include "qlstm.h"

typedef struct {
  const int32_t *x;
  const int8_t *r;
  const int32_t *mx, *mr;
  const int16_t *sigmoid, *tanh;
  const int32_t *bias;
  const int8_t *h;
  const int16_t *c;
  const int32_t *lengths;
  int8_t *y, *yh;
  int16_t *yc;
} tw_qlstm_tensors;

typedef struct {
  int32_t first, end;
  int32_t *sums; /* of the four gates of one sequence */
  int16_t *c;
  int8_t *now, *next;
} tw_qlstm_units;

static inline tw_qlstm_units tw_qlstm_units_of(const tw_qlstm_params *p, int32_t first, int32_t end, void *scratch) {
  tw_qlstm_units units;
  const int32_t all = p->batch * p->hidden;
  units.first = first;
  units.end = end;
  units.sums = scratch;
  units.c = (int16_t *)(units.sums + 4 * p->hidden);
  units.now = (int8_t *)(units.c + 2 * ((all + 1) / 2));
  units.next = units.now + 4 * ((all + 3) / 4);
  return units;
}

static inline int32_t tw_saturate16(int32_t x) { return tw_clamp(x, -32768, 32767); }

/* x * mul / 2^shift, halves up. */
static inline int64_t tw_shifted(int32_t x, int32_t mul, int32_t shift) {
  const int64_t product = (int64_t)x * mul;
  return shift ? (product + ((int64_t)1 << (shift - 1))) >> shift : product;
}

/* The same with a shift by more than 32 bits, where the high word is enough: small processors have an instruction for
 * it, but none for wide shifts. */
static inline int32_t tw_shifted_word(int32_t x, int32_t mul, int32_t shift) {
  return ((int32_t)(((int64_t)x * mul) >> 32) + (1 << (shift - 33))) >> (shift - 32);
}

static inline int32_t tw_shifted_left(int32_t x, int32_t by) { return (int32_t)((uint32_t)x << by); }

/* A function of a 16-bit sum by its table: between the entries on both sides. */
static inline int32_t tw_looked_up(const int16_t *table, int32_t x) {
  const int32_t entry = (x >> 7) + 256, low = table[entry];
  return low + (((table[entry + 1] - low) * (x & 127) + 64) >> 7);
}

/* From a unit's two totals to the sum of a gate; `at` is the gate's place among the units of all gates. */
static inline int32_t tw_qlstm_sum(const tw_qlstm_params *p, const tw_qlstm_tensors *with, int32_t x, int32_t total,
                                   int32_t at) {
  const int32_t mx = with->mx[p->x_factors > 1 ? at : 0], mr = with->mr[p->r_factors > 1 ? at : 0];
  x = tw_shifted_left(x, p->x_up);
  total = tw_shifted_left(total + (with->bias ? with->bias[at] : 0), p->r_up);
  if (p->x_down > 32 && p->r_down > 32) {
    return tw_saturate16(tw_shifted_word(x, mx, p->x_down) + tw_shifted_word(total, mr, p->r_down));
  }
  const int64_t sum = tw_shifted(x, mx, p->x_down) + tw_shifted(total, mr, p->r_down);
  return (int32_t)(sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum);
}

/* All four sums of one sequence's units. */
static inline void tw_qlstm_sums(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with,
                                 const int32_t *x, const int8_t *h) {
  for (int32_t gate = 0; gate < 4; gate++) {
    const int32_t at = gate * p->hidden;
    int32_t *sums = u->sums + at;
    tw_byte_dots(with->r + at * p->hidden, h, p->hidden, u->first, u->end, sums);
    for (int32_t i = u->first; i < u->end; i++) {
      sums[i] = tw_qlstm_sum(p, with, x[at + i], sums[i], at + i);
    }
  }
}

static inline void tw_qlstm_cell(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with,
                                 int16_t *c, int8_t *h) {
  const int32_t hidden = p->hidden, shift = 30 - p->cell_bits;
  const int32_t shift_out = p->out.requant.shift, zero = p->out.requant.zero_point;
  const int32_t *sums = u->sums;
  for (int32_t i = u->first; i < u->end; i++) {
    const int32_t in = tw_looked_up(with->sigmoid, sums[i]), cell = tw_looked_up(with->tanh, sums[3 * hidden + i]);
    const int32_t forget = p->coupled ? 32767 - in : tw_looked_up(with->sigmoid, sums[2 * hidden + i]);
    const int32_t kept = (forget * c[i] + 16384) >> 15;
    const int32_t now = tw_saturate16(kept + ((in * cell + (1 << (shift - 1))) >> shift));
    const int32_t seen = tw_looked_up(with->tanh, tw_saturate16(now * (1 << (12 - p->cell_bits))));
    c[i] = (int16_t)now;
    const int32_t out = tw_shifted_word(tw_looked_up(with->sigmoid, sums[hidden + i]) * seen, p->out.mul, shift_out);
    h[i] = (int8_t)tw_clamp(out + zero, p->out.requant.low, p->out.requant.high);
  }
}

/* The state to begin with; sequences of no steps have none. */
static inline void tw_qlstm_begin(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with) {
  const int8_t nothing = (int8_t)p->out.requant.zero_point;
  for (int32_t b = 0; b < p->batch; b++) {
    const int32_t is_empty = with->lengths && with->lengths[b] == 0;
    for (int32_t i = b * p->hidden + u->first; i < b * p->hidden + u->end; i++) {
      u->now[i] = with->h && !is_empty ? with->h[i] : nothing;
      u->c[i] = (int16_t)(with->c && !is_empty ? with->c[i] : 0);
    }
  }
}

static inline void tw_qlstm_give(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with) {
  for (int32_t b = 0; b < p->batch; b++) {
    for (int32_t i = b * p->hidden + u->first; i < b * p->hidden + u->end; i++) {
      if (with->yh) with->yh[i] = u->now[i];
      if (with->yc) with->yc[i] = u->c[i];
    }
  }
}

static inline void tw_qlstm_step(const tw_qlstm_params *p, const tw_qlstm_units *u, const tw_qlstm_tensors *with,
                                 int32_t t) {
  const int32_t hidden = p->hidden;
  for (int32_t b = 0; b < p->batch; b++) {
    const int32_t at = t * p->batch + b, is_over = with->lengths && t >= with->lengths[b];
    const int8_t *now = u->now + b * hidden;
    int8_t *next = u->next + b * hidden, *y = with->y ? with->y + at * hidden : 0;
    if (!is_over) {
      tw_qlstm_sums(p, u, with, with->x + at * 4 * hidden, now);
      tw_qlstm_cell(p, u, with, u->c + b * hidden, next);
    }
    for (int32_t i = u->first; i < u->end; i++) {
      if (is_over) next[i] = now[i];
      if (y) y[i] = is_over ? (int8_t)p->out.requant.zero_point : next[i];
    }
  }
}

static inline void tw_qlstm_steps(const tw_qlstm_params *p, tw_qlstm_units u, const tw_qlstm_tensors *with) {
  tw_qlstm_begin(p, &u, with);
  for (int32_t step = 0; step < p->steps; step++) {
    TW_MEET();
    tw_qlstm_step(p, &u, with, p->reverse ? p->steps - 1 - step : step);
    int8_t *now = u.now;
    u.now = u.next;
    u.next = now;
  }
  tw_qlstm_give(p, &u, with);
}

#endif
