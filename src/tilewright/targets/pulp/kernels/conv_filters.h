/* Parameters of an int8 convolution, and what it prepares for its filters. A kernel includes this after it has said what
 * TW_X, TW_W and TW_Y are, and whether they are signed. */
#ifndef TW_CONV_FILTERS_H
#define TW_CONV_FILTERS_H

#include "bytes4.h"
#include "cluster.h"
#include "columns.h"
#include "conv.h"
#include "dots.h"

#define TW_LARGEST_X (TW_X_SIGNED ? 128u : 255u)

typedef struct {
  const tw_conv_params *p;
  const TW_X *x;
  const TW_W *w;
  const int32_t *b, *mul, *add;
  TW_Y *y;
  int32_t length;   /* of a filter */
  int32_t step;     /* from the row of a pixel to that of the next: the filter's length, or a part of it in strips */
  int32_t filter;   /* from filter to filter: the length in whole words where rows are gathered or strips */
  int32_t pixel;    /* from pixel to pixel of a strip: its channels in whole words */
  int32_t pitch;    /* from row to row of a strip */
  int32_t pixels;   /* of y */
  int32_t filters;  /* of all groups: elements from pixel to pixel of y */
  int32_t channels; /* of all groups: elements from pixel to pixel of x */
  int32_t quads;    /* four neighbouring filters each, of one group; the last overlaps the one before */
  tw_columns *columns;
  const uint8_t *filled; /* the filters, filled up with zeros to whole words */
  uint8_t *gathered; /* windows or strips; a part of it is this core's */
  tw_dots dots;
} work;

static int32_t sum_of(const void *row, int32_t length, int is_signed) {
  const uint8_t *at = row;
  int32_t sum = 0;
  for (; length >= 4; length -= 4, at += 4) sum = tw_dot(sum, tw_x_load(at), 0x01010101u, is_signed, 1);
  for (; length > 0; length--, at++) sum += is_signed ? (int8_t)*at : *at;
  return sum;
}

/* The largest sum of products of a filter. */
static uint32_t largest_sum(const work *k, const TW_W *w) {
  int32_t length = k->length, sum = 0;
  for (; length >= 8; length -= 8, w += 8) {
    const uint32_t low = tw_x_load(w), high = tw_x_load(w + 4);
    sum = tw_x_sdotup4(sum, TW_W_SIGNED ? (uint32_t)tw_x_abs4(low) : low, 0x01010101u);
    sum = tw_x_sdotup4(sum, TW_W_SIGNED ? (uint32_t)tw_x_abs4(high) : high, 0x01010101u);
  }
  for (; length > 0; length--, w++) sum += (int32_t)tw_magnitude(*w);
  return TW_LARGEST_X * (uint32_t)sum;
}

/* The first filter of a quad, within its group. */
static int32_t first_of(const work *k, int32_t quad) { return tw_max(0, tw_min(4 * quad, k->p->out_channels - 4)); }

/* How a quad of filters is requantised, whose totals begin with at most `most`. A closer look at the weights pays off
 * where a faster way serves many pixels. */
static void set_mode(const work *k, int32_t filter, int32_t last, uint32_t most, tw_columns *to) {
  const tw_conv_params *const p = k->p;
  tw_factors all = tw_factors_of(k->mul[filter * p->mul_step], 0);
  for (int f = 0; f < 4; f++) {
    const int32_t at = filter + tw_min(f, last);
    to->mul[f] = k->mul[at * p->mul_step];
    to->add[f] = k->add ? k->add[at * p->add_step] : 0;
    tw_factors_join(&all, to->mul[f], to->add[f]);
  }
  const uint32_t limit = TW_LARGEST_X * (TW_W_SIGNED ? 128u : 255u) * (uint32_t)k->length;
  int32_t offset = tw_columns_mode(to, &p->requant, &all, limit + most, TW_Y_SIGNED);
  if ((to->mode == TW_CLIPPED || to->mode == TW_EXACT) && k->pixels * 4 >= k->length) {
    uint32_t closer = 0;
    for (int f = 0; f <= last; f++) {
      const uint32_t largest = largest_sum(k, k->w + (filter + f) * k->length);
      if (largest > closer) closer = largest;
    }
    offset = tw_columns_mode(to, &p->requant, &all, closer + most, TW_Y_SIGNED);
  }
  for (int f = 0; f < 4; f++) to->add[f] += offset;
}

/* A quad of filters from `filter` on, counted over all groups. Where there are fewer than four, the last one stands in. */
static TW_COMPACT void set_columns(const work *k, int32_t filter, tw_columns *to) {
  const tw_conv_params *const p = k->p;
  const int32_t last = tw_min(p->out_channels, 4) - 1;
  const int is_native = p->requantised && !p->w_zero && tw_is_native(&p->requant, TW_Y_SIGNED);
  uint32_t most = 0;
  for (int f = 0; f < 4; f++) {
    const int32_t at = filter + tw_min(f, last);
    int32_t init = tw_conv_bias(p, k->b, at);
    if (p->x_zero) init -= p->x_zero * (sum_of(k->w + at * k->length, k->length, TW_W_SIGNED) - k->length * p->w_zero);
    if (is_native) {
      tw_column_native(to, &p->requant, f, init, k->mul[at * p->mul_step], k->add ? k->add[at * p->add_step] : 0);
      continue;
    }
    to->init[f] = init;
    if (tw_magnitude(init) > most) most = tw_magnitude(init);
  }
  if (is_native) return;
  tw_columns_plain(to);
  if (p->requantised) set_mode(k, filter, last, most, to);
  tw_columns_prepare(to);
  if (!p->w_zero) tw_columns_begin_at_zero(to);
}

/* Copies of this core's share of the filters, whose runs of bytes are filled up to whole words. */
static TW_COMPACT void fill_up(const work *k, uint8_t *to) {
  const tw_share share = tw_share_of(k->filters);
  const int32_t run = k->p->strips ? k->p->in_channels : k->length, rest = -run & 3;
  const uint8_t *from = (const uint8_t *)(k->w + share.first * k->length);
  to += share.first * k->filter;
  for (int32_t i = share.first * k->length; i < share.end * k->length; i += run, from += run) {
    to = tw_fill_run(tw_copy_run(to, from, run), 0, rest);
  }
}

static void set_all_columns(const work *k) {
  const int32_t groups = k->p->groups;
  const tw_share share = tw_share_of(groups * k->quads);
  int32_t group = 0, quad = share.first;
  for (; quad >= k->quads; quad -= k->quads) group++;
  for (int32_t i = share.first; i < share.end; i++) {
    set_columns(k, group * k->p->out_channels + first_of(k, quad), k->columns + i);
    if (++quad == k->quads) quad = 0, group++;
  }
}

#endif
