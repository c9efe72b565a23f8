/* Depthwise convolutions of 8-bit integers with the channels last: what their kernels share, which name types first.
 *
 * A piece of work is some rows of four neighbouring channels. Their input is first taken apart into four planes, padding
 * included; neighbours of a row are then taps of the same filter, one dot product for four of them. */
#ifndef TW_DEPTHWISE_CHANNELS_H
#define TW_DEPTHWISE_CHANNELS_H

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define TW_W_SIGNED ((TW_W)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "bytes4.h"
#include "cluster.h"
#include "columns.h"
#include "conv.h"
#include "dot.h"
#include "own_requant.h"
#include "planes.h"

/* The product of a total: the total plus the factor less one times itself, which is one cycle; to multiply takes two. */
#define TW_A_SMALL_PRODUCT(t) TW_A_R(TW_E_MAC, t, t, "%[mul]")
#define TW_A_NARROW_PRODUCT(t) TW_A_R(TW_E_CLIP, t, t, "%[bound]") TW_A_SMALL_PRODUCT(t)
#define TW_A_HIGH_PRODUCT(t) "mulh " t ", " t ", %[mul]\n"

#define TW_E_DOT (TW_X_SIGNED ? TW_I_DOT_SS : TW_I_DOT_US)
#define TW_E_FIRST (TW_X_SIGNED ? TW_I_FIRST_SS : TW_I_FIRST_US)
#define TW_LARGEST_PRODUCT ((TW_X_SIGNED ? 128u : 255u) * (TW_W_SIGNED ? 128u : 255u))

typedef struct {
  const tw_conv_params *p;
  const TW_X *x;
  const TW_W *w;
  const int32_t *b, *mul, *add;
  TW_Y *y;
  int32_t words; /* of a filter's row */
  tw_planes planes;
  uint8_t *at;   /* the first of this core's planes, whose rows begin with the padding */
  int32_t first, end; /* the rows of them that have held more than padding */
  uint32_t *taps; /* of four channels: kernel_h rows of words each */
  tw_columns columns;
} work;

/* ---- planes ---- */

/* The image's part of some rows; around it the planes are filled once and for all. */
static void fill_rows(const work *k, int32_t first, int32_t end) {
  uint8_t *row = k->at + first * k->planes.pitch;
  for (; first < end; first++, row += k->planes.pitch) {
    for (int f = 0; f < 4; f++) tw_fill_run(row + f * k->planes.plane + k->p->pad_left, k->p->x_zero, k->p->in_w);
  }
}

/* The input of the output rows from `out_y` to `end`. */
static __attribute__((noinline)) void load_planes(work *k, int32_t image, int32_t channel, int32_t out_y,
                                                  int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t rows = (end - out_y - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  const int32_t in_y = out_y * p->stride_h - p->pad_top;
  const int32_t above = tw_min(rows, tw_max(0, -in_y)), inside = tw_max(above, tw_min(rows, p->in_h - in_y));
  const int32_t first = image * p->in_h + in_y + above;
  fill_rows(k, k->first, above);
  fill_rows(k, inside, k->end);
  k->first = tw_min(k->first, above), k->end = tw_max(k->end, inside);
  tw_planes_load(&k->planes, (const uint8_t *)k->x + first * k->planes.across + channel,
                 k->at + above * k->planes.pitch + p->pad_left, inside - above);
}

/* ---- filters ---- */

/* The taps of a channel in words, filled up with zeros; returns their sum. */
static int32_t load_taps(const work *k, const TW_W *w, uint32_t *to) {
  int32_t sum = 0;
  if (k->p->kernel_h == 3 && k->p->kernel_w == 3) {
    /* The last word begins a byte early, where there is nothing behind the last filter. */
    const uint32_t row[3] = {tw_x_load(w) & 0xffffff, tw_x_load(w + 3) & 0xffffff, tw_x_load(w + 5) >> 8};
    for (int i = 0; i < 3; i++) {
      to[i] = row[i];
      sum = tw_dot(sum, row[i], 0x01010101u, TW_W_SIGNED, 1);
    }
    return sum;
  }
  if (k->words == 2) {
    const int32_t width = k->p->kernel_w;
    for (int32_t r = 0; r < k->p->kernel_h; r++, w += width, to += 2) {
      to[0] = tw_x_load(w);
      to[1] = tw_x_load(w + width - 4) >> 8 * (8 - width); /* ends where the row does */
      sum = tw_dot(tw_dot(sum, to[0], 0x01010101u, TW_W_SIGNED, 1), to[1], 0x01010101u, TW_W_SIGNED, 1);
    }
    return sum;
  }
  for (int32_t r = 0; r < k->p->kernel_h; r++) {
    for (int32_t s = 0; s < 4 * k->words; s += 4, to++) {
      uint32_t word = 0;
      for (int32_t i = 0; i < 4 && s + i < k->p->kernel_w; i++, w++) {
        word |= (uint32_t)(uint8_t)*w << (8 * i);
        sum += *w;
      }
      *to = word;
    }
  }
  return sum;
}

/* Four channels from `channel` on. */
static TW_COMPACT void set_channels(work *k, int32_t channel) {
  const tw_conv_params *const p = k->p;
  const int32_t taps = p->kernel_h * p->kernel_w;
  const int is_native = p->requantised && !TW_Y_IS_WIDE && tw_is_native(&p->requant, TW_Y_SIGNED);
  uint32_t most = 0;
  for (int f = 0; f < 4; f++) {
    const int32_t sum = load_taps(k, k->w + (channel + f) * taps, k->taps + f * k->words * p->kernel_h);
    const int32_t init = tw_conv_bias(p, k->b, channel + f) - p->x_zero * sum;
    if (is_native) {
      tw_column_native(&k->columns, &p->requant, f, init, k->mul[(channel + f) * p->mul_step],
                       k->add ? k->add[(channel + f) * p->add_step] : 0);
      continue;
    }
    k->columns.init[f] = init;
    if (tw_magnitude(init) > most) most = tw_magnitude(init);
  }
  if (is_native) return;
  tw_columns_plain(&k->columns); /* its bound clips nothing, unless the mode will be to clip */
  if (!p->requantised) return;
  tw_columns_choose(&k->columns, &p->requant, k->mul + channel * p->mul_step, p->mul_step,
                    k->add ? k->add + channel * p->add_step : 0, p->add_step,
                    TW_LARGEST_PRODUCT * (uint32_t)taps + most, TW_Y_SIGNED);
  tw_columns_begin_at_zero(&k->columns);
}

/* ---- rows of results ---- */

/* Channel f of the four: their number is `channel`. */
static int32_t finish(const work *k, int32_t total, int f, int32_t channel) {
  const tw_conv_params *const p = k->p;
  if (k->columns.mode != TW_EXACT) return tw_columns_finish(&k->columns, total, f, TW_Y_SIGNED);
  return tw_requantise_byte(&p->requant, total, k->mul[channel * p->mul_step], k->add ? k->add[channel * p->add_step] : 0);
}

/* Any filter. */
static void any_row(const work *k, const uint8_t *from, int f, int32_t channel, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  for (int32_t i = 0; i < p->out_w; i++, from += p->stride_w, y += p->groups) {
    int32_t total = k->columns.init[f];
    const uint32_t *taps = k->taps + f * k->words * p->kernel_h;
    const uint8_t *row = from;
    for (int32_t r = 0; r < p->kernel_h; r++, row += p->dilation_h * k->planes.pitch) {
      for (int32_t s = 0; s < 4 * k->words; s += 4) {
        total = tw_dot(total, tw_x_load(row + s), *taps++, TW_X_SIGNED, TW_W_SIGNED);
      }
    }
    *y = (TW_Y)finish(k, total, f, channel);
  }
}

#endif
