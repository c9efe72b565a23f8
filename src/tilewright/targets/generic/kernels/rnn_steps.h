/* The steps of plain recurrent cells; see recurrent_steps.h for what has to be there. */
#ifndef TW_RNN_STEPS_H
#define TW_RNN_STEPS_H

#include "recurrent_steps.h"

static inline void tw_rnn_steps(const tw_recurrent_params *p, tw_units u, const float *x, const float *r, const float *h,
                                const int32_t *lengths, const float *s, float *y, float *yh) {
  const int32_t hidden = p->hidden;
  tw_begin(p, &u, h, lengths, u.now);
  for (int32_t step = 0; step < p->steps; step++) {
    const int32_t t = p->reverse ? p->steps - 1 - step : step;
    TW_MEET();
    for (int32_t b = 0; b < p->batch; b++) {
      const int32_t at = (t * p->batch + b) * hidden, row = b * hidden;
      if (tw_has_ended(p, &u, lengths, t, b, y ? y + at : 0)) continue;
      tw_gate_sums(p, &u, 0, x + at, r, u.now + row, s ? s + row : 0, u.next + row);
      tw_gate(&p->f, p->clip, u.next + row, u.first, u.end);
      if (y) tw_copy_units(u.next + row, u.first, u.end, y + at);
    }
    tw_swap(&u);
  }
  tw_give(p, &u, u.now, yh);
}

#endif
