/* How depthwise_lanes.c goes through an image, and its working memory. */
#ifndef TW_DEPTHWISE_LANES_SIZES_H
#define TW_DEPTHWISE_LANES_SIZES_H

#include "conv_dot.h"
#include "tw.h"

#define TW_LANES_BYTES 16384 /* of rows that are put together, which stay in the nearest cache */
#define TW_LANES_SPARE 5     /* units of vectors that may be read behind them */

typedef struct {
  int32_t channels, vectors; /* vectors of different constants */
  int32_t at_a_time;         /* of them, before the next ones */
  int32_t rows, sets;        /* rows of results that share rows of the image, and how many such sets before the next vectors */
  int32_t bands, fours;      /* fours of rows, and fours of taps */
  int32_t slots;             /* pixels of a row for each phase of the stride */
  int32_t *place;            /* of each four of taps, from the first of a window */
} tw_lanes_plan;

static inline int32_t tw_greatest_divisor(int32_t a, int32_t b) {
  while (b) {
    const int32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Of so many channels of the rows that a set puts together. */
static inline int64_t tw_lanes_of_set(const tw_conv_params *p, const tw_lanes_plan *plan, int32_t channels) {
  return (int64_t)plan->bands * plan->slots * p->stride_w * channels;
}

static inline tw_lanes_plan tw_lanes_plan_of(const tw_conv_params *p, int32_t lanes, int32_t *place) {
  const int32_t channels = p->groups, reach = (p->kernel_w - 1) * p->dilation_w / p->stride_w + 1;
  tw_lanes_plan made = {channels, 0, 0, 1, 1, (p->kernel_h + 3) / 4, 0, p->out_w + reach - 1, place};
  made.vectors = channels < lanes ? channels / tw_greatest_divisor(lanes, channels) : (channels + lanes - 1) / lanes;
  const int64_t bytes = 4 * (int64_t)made.slots * p->stride_w * lanes * made.bands;
  made.at_a_time = channels < lanes ? made.vectors : (int32_t)tw_max(1, tw_min(made.vectors, TW_LANES_BYTES / tw_max(bytes, 1)));
  made.rows = p->kernel_h <= 3 && p->stride_h == p->dilation_h ? 2 : 1;
  made.fours = made.bands * p->kernel_w;
  const int64_t set = tw_lanes_of_set(p, &made, tw_min(channels, made.at_a_time * lanes));
  made.sets = (int32_t)tw_max(1, tw_min((p->out_h + made.rows - 1) / made.rows, (int32_t)(TW_LANES_BYTES / tw_max(1, (int32_t)(4 * set)))));
  return made;
}

/* Where the taps of each column are among rows of so many channels that are put together. */
static inline void tw_place_taps(const tw_conv_params *p, const tw_lanes_plan *plan, int32_t channels) {
  for (int32_t c = 0; c < p->kernel_w; c++) {
    const int32_t column = c * p->dilation_w, slot = column % p->stride_w * plan->slots + column / p->stride_w;
    for (int32_t band = 0; band < plan->bands; band++) {
      plan->place[c * plan->bands + band] = (band * p->stride_w * plan->slots + slot) * channels;
    }
  }
}

/* A row beside the image. */
static inline int64_t tw_lanes_zeros(const tw_conv_params *p) { return ((int64_t)p->in_w * p->groups + 3) / 4 * 4; }

/* Places of taps, a row beside the image, rows that are put together and what may be read behind them. */
static inline int64_t tw_depthwise_lanes_scratch(const tw_conv_dot_params *p, int32_t lanes) {
  const tw_lanes_plan plan = tw_lanes_plan_of(&p->conv, lanes, 0);
  const int64_t put = plan.sets * tw_lanes_of_set(&p->conv, &plan, tw_min(plan.channels, plan.at_a_time * lanes));
  const int64_t behind = (int64_t)TW_LANES_SPARE * plan.at_a_time * lanes;
  return 4 * ((int64_t)plan.fours + put + behind) + tw_lanes_zeros(&p->conv);
}

#endif
