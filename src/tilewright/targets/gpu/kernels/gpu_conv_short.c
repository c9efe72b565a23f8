/* Convolution of bytes, channels last, whose windows have few of them, such as those of the first layers: an item makes
 * TW_FILTERS neighbouring filters of a pixel, word by word. Tiles would be empty for the most part. Weights, and where
 * the words of a window are, are the same for a group: they come while the launch before ends. */
#define TW_GROUP_SIZE 128
#define TW_WAITS_ITSELF
#define TW_EARLY 30 /* w, b, mul, add */

#ifndef TW_NAME
#define TW_NAME tw_gpu_conv_short
#define TW_X int8_t
#define TW_W int8_t
#define TW_B int32_t
#define TW_Y int8_t
#endif

#include "conv.h"
#include "gpu.h"
#include "gpu_requant.h"
#include "gpu_unroll.h"
#include "gpu_words.h"

enum { TW_MOST_WORDS = 16 /* of a window */, TW_FILTERS = 8, TW_WORD = 4 };

/* Where a word of all windows is: from their first row and column on, and from their first byte on. */
typedef struct {
  int32_t row, column, offset;
} tw_word_place;

TW_GROUP_SHARED(tw_word_place, places, [TW_MOST_WORDS]);
TW_GROUP_SHARED(uint32_t, weights, [TW_MOST_WORDS * TW_FILTERS]);

TW_GPU int32_t words_of(const tw_conv_params *p) { return p->kernel_h * p->kernel_w * p->in_channels / TW_WORD; }

TW_GPU int32_t pixels_of(const tw_conv_params *p) { return p->batch * p->out_h * p->out_w; }

static inline tw_grid grid(const tw_conv_params *p) {
  const tw_grid groups = {(pixels_of(p) + TW_GROUP_SIZE - 1) / TW_GROUP_SIZE, p->out_channels / TW_FILTERS, 1};
  return groups;
}

TW_GPU tw_word_place place_of(const tw_conv_params *p, int32_t word) {
  const int32_t each = p->in_channels / TW_WORD, tap = word / each;
  const int32_t row = tap / p->kernel_w * p->dilation_h, column = tap % p->kernel_w * p->dilation_w;
  const tw_word_place place = {row, column, (row * p->in_w + column) * p->in_channels + word % each * TW_WORD};
  return place;
}

/* What the filters of a group have in common, and its pixels. */
TW_GPU void share(const tw_conv_params *p, const TW_W *w, int32_t filter, int32_t t) {
  const int32_t words = words_of(p);
  if (t < words) places[t] = place_of(p, t);
  for (int32_t i = t; i < words * TW_FILTERS; i += TW_GROUP_SIZE) {
    const TW_W *const row = w + (int64_t)(filter + i % TW_FILTERS) * words * TW_WORD;
    weights[i] = *(const tw_word *)(row + i / TW_FILTERS * TW_WORD);
  }
}

/* Constants of an item's filters. */
typedef struct {
  uint32_t bias[TW_FILTERS];
  int32_t mul[TW_FILTERS], add[TW_FILTERS];
} tw_known;

TW_GPU void read_known(tw_known *known, const tw_conv_params *p, const TW_B *b, const int32_t *mul, const int32_t *add,
                       int32_t filter) {
  TW_UNROLL for (int32_t f = 0; f < TW_FILTERS; f++) {
    known->bias[f] = b ? (uint32_t)b[(filter + f) * p->bias_step] : 0;
    known->mul[f] = mul[(filter + f) * p->mul_step];
    known->add[f] = add ? add[(filter + f) * p->add_step] : 0;
  }
}

/* A zero point counts as any other number: what it adds is taken off before. */
TW_GPU void take_zeros_off(tw_known *known, const tw_conv_params *p) {
  const uint32_t zeros = tw_word_of(p->x_zero);
  if (!p->x_zero) return;
  for (int32_t word = 0; word < words_of(p); word++) {
    TW_UNROLL for (int32_t f = 0; f < TW_FILTERS; f++) {
      known->bias[f] -= tw_four_products(0, zeros, weights[word * TW_FILTERS + f]);
    }
  }
}

/* A word of the window that begins at a row and a column, `first`: zero points where it is in the padding. */
TW_GPU uint32_t word_at(const tw_conv_params *p, const TW_X *x, int64_t first, int32_t top, int32_t left,
                        int32_t word) {
  const int32_t row = top + places[word].row, column = left + places[word].column;
  const int32_t is_inside = ((uint32_t)row < (uint32_t)p->in_h) & ((uint32_t)column < (uint32_t)p->in_w);
  const uint32_t found = *(const tw_word *)(x + (is_inside ? first + places[word].offset : 0));
  return is_inside ? found : tw_word_of(p->x_zero);
}

/* All words are on their way before the first is multiplied. */
TW_GPU void add_window(const tw_conv_params *p, const TW_X *x, int32_t pixel, uint32_t *total) {
  const int32_t each = p->out_h * p->out_w, image = pixel / each, at = pixel % each, words = words_of(p);
  const int32_t top = at / p->out_w * p->stride_h - p->pad_top, left = at % p->out_w * p->stride_w - p->pad_left;
  const int64_t first = (((int64_t)image * p->in_h + top) * p->in_w + left) * p->in_channels;
  uint32_t own[TW_MOST_WORDS];
  TW_UNROLL for (int32_t i = 0; i < TW_MOST_WORDS; i++) own[i] = i < words ? word_at(p, x, first, top, left, i) : 0;
  TW_UNROLL for (int32_t i = 0; i < TW_MOST_WORDS; i++) {
    if (i < words) {
      TW_UNROLL for (int32_t f = 0; f < TW_FILTERS; f++) {
        total[f] = tw_four_products(total[f], own[i], weights[i * TW_FILTERS + f]);
      }
    }
  }
}

TW_GPU void finish_four(const tw_conv_params *p, const tw_known *known, const uint32_t *total, int32_t first, TW_Y *y) {
  int32_t sums[4];
  uint32_t word = 0;
  TW_UNROLL for (int32_t f = 0; f < 4; f++) sums[f] = (int32_t)(total[first + f] + known->bias[first + f]);
  tw_requantise_four(&p->requant, sums, known->mul + first, known->add + first);
  TW_UNROLL for (int32_t f = 0; f < 4; f++) word |= (uint32_t)(uint8_t)sums[f] << 8 * f;
  *(tw_word *)(y + first) = word;
}

TW_GPU void group(const tw_conv_params *params, const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul,
                  const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = params;
  const int32_t filter = TW_GROUP_Y * TW_FILTERS;
  TW_ITEM_OWN(tw_known, known, [1]);
  TW_LET_OTHERS();
  TW_ITEMS(t) {
    share(p, w, filter, t);
    read_known(known[TW_OWN(t)], p, b, mul, add, filter);
  }
  TW_MEET();
  TW_ITEMS(t) { take_zeros_off(known[TW_OWN(t)], p); }
  TW_AFTER_OTHERS();
  TW_ITEMS(t) {
    const int32_t pixel = TW_GROUP_X * TW_GROUP_SIZE + t;
    if (pixel < pixels_of(p)) {
      uint32_t total[TW_FILTERS] = {0};
      TW_Y *const to = y + (int64_t)pixel * p->out_channels + filter;
      add_window(p, x, pixel, total);
      TW_UNROLL for (int32_t f = 0; f < TW_FILTERS; f += 4) finish_four(p, known[TW_OWN(t)], total, f, to);
    }
  }
}

TW_GPU_KERNEL(tw_conv_params,
              (const TW_X *x, const TW_W *w, const TW_B *b, const int32_t *mul, const int32_t *add, TW_Y *y),
              (x, w, b, mul, add, y))
