/* The loops of tw_totals.h for results of type TW_Y, with the target's own way to requantise rows; this core's share. */
#ifndef TW_TOTALS_LOOPS_H
#define TW_TOTALS_LOOPS_H

#include "requant_row.h"
#include "tw_shares.h"
#include "tw_totals.h"

/* Short ways need totals below 2^30. */
static int tw_totals_are_small(const tw_totals *p, const int32_t *bias) {
  const int32_t room = (1 << 30) - 1 - p->products;
  int small = room > 0;
  for (int32_t c = 0; bias != NULL && c < p->channels; c++) small = small && bias[c] < room && -room < bias[c];
  return small;
}

static inline tw_factor tw_totals_factor(const tw_totals *p, tw_way way, const int32_t *mul, const int32_t *add,
                                         int32_t channel) {
  return tw_factor_of(way, &p->requant, mul[channel * p->mul_step], add == NULL ? 0 : add[channel * p->add_step]);
}

/* Totals of one channel that lie side by side, four at a time. */
static __attribute__((noinline)) void tw_totals_plane(tw_way way, const tw_requant *r, const tw_factor *factor,
                                                      const int32_t *total, TW_Y *y, int32_t count) {
  const tw_factor f = *factor;
  for (; count >= 4; count -= 4, total += 4, y += 4) tw_requantise_row(way, r, &f, total, y, 4);
  for (; count > 0; count--) tw_requantise_row(way, r, &f, total++, y++, 1);
}

/* Totals of one channel that lie `step` apart, four at a time. */
static __attribute__((noinline)) void tw_totals_column(tw_way way, const tw_requant *r, const tw_factor *factor,
                                                       const int32_t *total, TW_Y *y, int32_t count, int32_t step) {
  const tw_factor f = *factor;
  for (; way != TW_ANY_WAY && count >= 4; count -= 4, total += 4 * step, y += 4 * step) {
    const int32_t four[4] = {total[0], total[step], total[2 * step], total[3 * step]};
    TW_Y found[4];
    tw_requantise_row(way, r, &f, four, found, 4);
    for (int32_t i = 0; i < 4; i++) y[i * step] = found[i];
  }
  for (; count > 0; count--, total += step, y += step) tw_requantise_row(way, r, &f, total, y, 1);
}

static inline void tw_totals_planes(const tw_totals *p, tw_way way, const int32_t *total, const int32_t *mul,
                                    const int32_t *add, TW_Y *y) {
  const tw_share planes = tw_share_of(p->outer * p->channels);
  total += planes.first * p->inner;
  y += planes.first * p->inner;
  for (int32_t plane = planes.first, c = planes.first % p->channels; plane < planes.end; plane++) {
    const tw_factor factor = tw_totals_factor(p, way, mul, add, c);
    tw_totals_plane(way, &p->requant, &factor, total, y, p->inner);
    total += p->inner;
    y += p->inner;
    c = c + 1 == p->channels ? 0 : c + 1;
  }
}

static inline void tw_totals_columns(const tw_totals *p, tw_way way, const int32_t *total, const int32_t *mul,
                                     const int32_t *add, TW_Y *y) {
  const tw_share columns = tw_share_of(p->channels);
  for (int32_t c = columns.first; c < columns.end; c++) {
    const tw_factor factor = tw_totals_factor(p, way, mul, add, c);
    tw_totals_column(way, &p->requant, &factor, total + c, y + c, p->outer, p->channels);
  }
}

static inline void tw_totals_requantise(const tw_totals *p, const int32_t *total, const int32_t *bias,
                                        const int32_t *mul, const int32_t *add, TW_Y *y) {
  const int small = tw_totals_are_small(p, bias);
  const tw_way way = tw_way_of(1, &p->requant, add, p->add_step, p->channels, small);
  if (p->inner == 1)
    tw_totals_columns(p, way, total, mul, add, y);
  else
    tw_totals_planes(p, way, total, mul, add, y);
}

#endif
