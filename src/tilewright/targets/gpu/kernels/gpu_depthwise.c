/* Depthwise convolution of images with channels last, weights tap by tap: an item makes four neighbouring channels of a
 * pixel. Taps outside of the image are read inside, and count as zero: so that all are on their way at once. What the
 * channels have in common, and the weights of the usual windows, come while the launch before ends. */
#define TW_GROUP_SIZE 128
#define TW_WAITS_ITSELF
#define TW_EARLY 30 /* w, b, mul, add */

#ifndef TW_NAME
#define TW_NAME tw_gpu_depthwise
#define TW_X float
#define TW_W float
#define TW_B float
#define TW_Y float
#define TW_X_IS_FLOAT 1
#endif

#include "conv.h"
#include "gpu.h"
#include "gpu_stored.h"
#include "gpu_totals.h"
#include "gpu_unroll.h"
#if !TW_X_IS_FLOAT
#include "gpu_async.h"
#include "gpu_requant.h"
#if TW_IS_ASYNC
#define TW_BY_WORDS 1
#include "gpu_depthwise_bytes.h"
#endif
#endif

enum { TW_CHANNELS = 4, TW_USUAL = 3 /* rows and columns of the usual window */ };

typedef struct {
  TW_X at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_X) * TW_CHANNELS), may_alias)) tw_four_x;

typedef struct {
  TW_W at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_W) * TW_CHANNELS), may_alias)) tw_four_w;

typedef struct {
  TW_Y at[TW_CHANNELS];
} __attribute__((aligned(sizeof(TW_Y) * TW_CHANNELS), may_alias)) tw_four_y;

static inline int32_t fours(const tw_conv_params *p) {
  return p->batch * p->out_h * p->out_w * (p->groups / TW_CHANNELS);
}

static inline tw_grid grid(const tw_conv_params *params) { return tw_items(fours(params)); }

TW_GPU int32_t within(int32_t at, int32_t size) { return at < 0 ? 0 : at < size ? at : size - 1; }

/* What is constant of an item's channels. */
typedef struct {
  total_t bias[TW_CHANNELS];
  int32_t mul[TW_CHANNELS], add[TW_CHANNELS];
#if TW_BY_WORDS
  tw_tap_words taps;
#else
  tw_four_w taps[TW_USUAL * TW_USUAL];
#endif
} tw_known;

TW_GPU int32_t is_usual(const tw_conv_params *p) { return p->kernel_h == TW_USUAL && p->kernel_w == TW_USUAL; }

/* Where an item's channels are. */
TW_GPU int32_t channel_of(const tw_conv_params *p, int32_t i) {
  return i % (p->groups / TW_CHANNELS) * TW_CHANNELS;
}

#if TW_BY_WORDS
/* Four zero points. */
TW_GPU uint32_t zeros_of(const tw_conv_params *p) { return tw_word_of(p->x_zero); }
#endif

TW_GPU void read_known(tw_known *known, const tw_conv_params *p, const TW_W *w, const TW_B *b, const int32_t *mul,
                       const int32_t *add, int32_t channel) {
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) {
    known->bias[c] = b ? (total_t)b[(channel + c) * p->bias_step] : 0;
#if !TW_X_IS_FLOAT
    known->mul[c] = p->requantised ? mul[(channel + c) * p->mul_step] : 0;
    known->add[c] = p->requantised && add ? add[(channel + c) * p->add_step] : 0;
#else
    (void)mul, (void)add;
#endif
  }
  if (is_usual(p)) {
#if TW_BY_WORDS
    uint32_t zeros[TW_USUAL * TW_USUAL], shares[TW_CHANNELS] = {0};
    TW_UNROLL for (int32_t i = 0; i < TW_USUAL * TW_USUAL; i++) zeros[i] = zeros_of(p);
    tw_read_tap_words(&known->taps, w + channel, p->groups);
    tw_add_words(shares, &known->taps, zeros);
    TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) known->bias[c] -= shares[c];
#else
    TW_UNROLL for (int32_t i = 0; i < TW_USUAL * TW_USUAL; i++) {
      known->taps[i] = *(const tw_four_w *)(w + i * p->groups + channel);
    }
#endif
  }
}

/* A tap's pixel, or one at the border where there is none. */
TW_GPU const TW_X *pixel_at(const tw_conv_params *p, const TW_X *x, int32_t in_y, int32_t in_x) {
  return x + ((int64_t)within(in_y, p->in_h) * p->in_w + within(in_x, p->in_w)) * p->groups;
}
TW_GPU int32_t is_inside(const tw_conv_params *p, int32_t in_y, int32_t in_x) {
  return in_y >= 0 && in_y < p->in_h && in_x >= 0 && in_x < p->in_w;
}

TW_GPU void add_tap(const tw_conv_params *p, const TW_X *x, const tw_four_w *tap, int32_t in_y, int32_t in_x,
                    total_t *total) {
  const int32_t counts = is_inside(p, in_y, in_x);
  const tw_four_x pixel = *(const tw_four_x *)pixel_at(p, x, in_y, in_x);
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) {
    const total_t value = TW_CENTRED(TW_X_LOAD(pixel.at[c]), p->x_zero);
    total[c] += (counts ? value : 0) * (total_t)TW_W_LOAD(tap->at[c]);
  }
}

/* The window of an item, which begins at a row and a column; x and w begin with its channels. */
TW_GPU void add_window(const tw_conv_params *p, const tw_known *known, const TW_X *x, const TW_W *w, int32_t top,
                       int32_t left, total_t *total) {
  if (is_usual(p)) {
#if TW_BY_WORDS
    uint32_t pixels[TW_USUAL * TW_USUAL];
    TW_UNROLL for (int32_t i = 0; i < TW_USUAL * TW_USUAL; i++) {
      const int32_t in_y = top + i / TW_USUAL * p->dilation_h, in_x = left + i % TW_USUAL * p->dilation_w;
      const uint32_t pixel = *(const tw_word *)pixel_at(p, x, in_y, in_x);
      /* Not a choice that a compiler could make a branch of: all pixels are on their way at once. */
      pixels[i] = tw_bytes_of_two(pixel, zeros_of(p), is_inside(p, in_y, in_x) ? 0x3210 : 0x7654);
    }
    tw_add_words(total, &known->taps, pixels);
#else
    TW_UNROLL for (int32_t i = 0; i < TW_USUAL * TW_USUAL; i++) {
      add_tap(p, x, &known->taps[i], top + i / TW_USUAL * p->dilation_h, left + i % TW_USUAL * p->dilation_w, total);
    }
#endif
  } else if (p->kernel_w == 5) {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      TW_UNROLL for (int32_t s = 0; s < 5; s++) {
        const tw_four_w tap = *(const tw_four_w *)(w + (r * 5 + s) * p->groups);
        add_tap(p, x, &tap, top + r * p->dilation_h, left + s * p->dilation_w, total);
      }
    }
  } else {
    for (int32_t r = 0; r < p->kernel_h; r++) {
      for (int32_t s = 0; s < p->kernel_w; s++) {
        const tw_four_w tap = *(const tw_four_w *)(w + (r * p->kernel_w + s) * p->groups);
        add_tap(p, x, &tap, top + r * p->dilation_h, left + s * p->dilation_w, total);
      }
    }
  }
}

TW_GPU tw_four_y finished(const tw_conv_params *p, const tw_known *known, total_t *total) {
  tw_four_y results;
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) total[c] += known->bias[c];
#if TW_X_IS_FLOAT
  tw_activate(&p->activation, total, TW_CHANNELS, 1);
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) results.at[c] = TW_Y_STORE(total[c]);
#else
  int32_t sums[TW_CHANNELS];
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) sums[c] = (int32_t)total[c];
  if (p->requantised) tw_requantise_four(&p->requant, sums, known->mul, known->add);
  TW_UNROLL for (int32_t c = 0; c < TW_CHANNELS; c++) results.at[c] = (TW_Y)sums[c];
#endif
  return results;
}

TW_GPU void group(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = params;
  TW_ITEM_OWN(tw_known, known, [1]);
  TW_LET_OTHERS();
  TW_ITEMS(t) { read_known(known[TW_OWN(t)], p, w, b, mul, add, channel_of(p, TW_GROUP_X * TW_GROUP_SIZE + t)); }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    const int32_t i = TW_GROUP_X * TW_GROUP_SIZE + t, pixels = p->out_h * p->out_w;
    if (i < fours(p)) {
      const int32_t channel = channel_of(p, i), place = i / (p->groups / TW_CHANNELS);
      const int32_t at = place % pixels, image = place / pixels;
      total_t total[TW_CHANNELS] = {0};
      add_window(p, known[TW_OWN(t)], x + (int64_t)image * p->in_h * p->in_w * p->groups + channel, w + channel,
                 at / p->out_w * p->stride_h - p->pad_top, at % p->out_w * p->stride_w - p->pad_left, total);
      *(tw_four_y *)(y + (int64_t)place * p->groups + channel) = finished(p, known[TW_OWN(t)], total);
    }
  }
}

TW_GPU_KERNEL(tw_conv_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, w, b, mul, add, y))
