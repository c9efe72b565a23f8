/* The loops of tw_totals.h for results of type TW_Y; this core's share of them. */
#ifndef TW_TOTALS_LOOPS_H
#define TW_TOTALS_LOOPS_H

#include "tw_shares.h"
#include "tw_totals.h"

static inline int32_t tw_total_add(const tw_totals *p, const int32_t *add, int32_t channel) {
  return add == NULL ? 0 : add[channel * p->add_step];
}

/* Channels lie side by side. */
static inline void tw_totals_side_by_side(const tw_totals *p, const int32_t *total, const int32_t *mul,
                                          const int32_t *add, TW_Y *y) {
  const tw_requant requant = p->requant;
  const tw_share rows = tw_share_of(p->outer);
  total += rows.first * p->channels;
  y += rows.first * p->channels;
  for (int32_t row = rows.first; row < rows.end; row++)
    for (int32_t c = 0; c < p->channels; c++)
      *y++ = (TW_Y)tw_requantise(&requant, *total++, mul[c * p->mul_step], tw_total_add(p, add, c));
}

/* Every channel is a plane of its own. */
static inline void tw_totals_plane_by_plane(const tw_totals *p, const int32_t *total, const int32_t *mul,
                                            const int32_t *add, TW_Y *y) {
  const tw_requant requant = p->requant;
  const tw_share planes = tw_share_of(p->outer * p->channels);
  total += planes.first * p->inner;
  y += planes.first * p->inner;
  for (int32_t plane = planes.first; plane < planes.end; plane++) {
    const int32_t c = plane % p->channels, factor = mul[c * p->mul_step], summand = tw_total_add(p, add, c);
    for (int32_t i = 0; i < p->inner; i++) *y++ = (TW_Y)tw_requantise(&requant, *total++, factor, summand);
  }
}

static inline void tw_totals_requantise(const tw_totals *p, const int32_t *total, const int32_t *bias,
                                        const int32_t *mul, const int32_t *add, TW_Y *y) {
  (void)bias;
  if (p->inner == 1)
    tw_totals_side_by_side(p, total, mul, add, y);
  else
    tw_totals_plane_by_plane(p, total, mul, add, y);
}

#endif
