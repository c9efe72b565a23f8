/* Convolution of bytes, channels last, and product of rows with a constant matrix; weights are packed as dot.h says.
 *
 * Of a strip of pixels it is noted where their windows lie, tap by tap; taps outside the image find a row of what stands
 * for zero. Windows with few channels, or an odd number of them, are gathered first: they are then a single tap. Every
 * block of filters meets all pixels of a strip. */
#ifndef TW_NAME
#define TW_NAME tw_conv_dot
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "conv_dot.h"
#include "dot.h"

#define TW_FLIP (TW_IS_UNSIGNED(TW_X) ? 0x80 : 0)

/* What is the same for all pixels. */
typedef struct {
  const tw_conv_params *p;
  tw_way way;
  int32_t taps, length; /* bytes of a tap */
  int32_t pitch;        /* bytes from pixel to pixel of x */
  int32_t inner_top, inner_left; /* the last place of a window inside the image */
  const int8_t *zeros;  /* a pixel outside */
  int8_t *windows;      /* that are gathered, one behind the other */
  int32_t window;
  const int8_t **at;    /* [block of pixels][tap][TW_ROWS] */
} work;

/* A block of filters. */
typedef struct {
  const int8_t *w;
  const int32_t *b, *mul, *add;
  int32_t filters; /* that are wanted */
} block;

/* ---- totals and results ---- */

TW_ALWAYS void store_any(const work *k, const block *f, tw_sums sums, TW_Y *y) {
  int32_t total[TW_COLUMNS];
  tw_sums_store(total, sums);
  if (!k->p->requantised) {
    for (int32_t i = 0; i < f->filters; i++) y[i] = (TW_Y)total[i];
    return;
  }
  const tw_requant requant = k->p->requant;
  for (int32_t i = 0; i < f->filters; i++) {
    y[i] = (TW_Y)tw_requantise(&requant, total[i], f->mul[i], f->add ? f->add[i] : 0);
  }
}

TW_ALWAYS void store_rows(tw_way way, int rows, const work *k, const block *f, const tw_sums *t, TW_Y *y, int32_t pitch) {
  const tw_scaler scaler = tw_scaler_of(&k->p->requant);
  const tw_factors factors = tw_factors_of(&scaler, f->mul, f->add);
  if (f->filters >= TW_COLUMNS) {
    TW_UNROLLED for (int r = 0; r < rows; r++) {
      tw_scale_row(way, &scaler, &factors, TW_IS_UNSIGNED(TW_Y), t[r], y + r * pitch);
    }
    return;
  }
  TW_UNROLLED for (int r = 0; r < rows; r++) {
    uint8_t some[TW_COLUMNS];
    tw_scale_row(way, &scaler, &factors, TW_IS_UNSIGNED(TW_Y), t[r], some);
    memcpy(y + r * pitch, some, (size_t)f->filters);
  }
}

/* Some pixels and a block of filters; `wanted` rows are stored. */
TW_ALWAYS void multiply_block(int rows, const work *k, const int8_t *const *at, int32_t offset, const block *f, TW_Y *y,
                              int32_t wanted) {
  const int32_t length = k->length, pitch = k->p->out_channels * k->p->groups;
  const int8_t *w = f->w;
  tw_sums t[TW_ROWS];
  TW_UNROLLED for (int r = 0; r < rows; r++) t[r] = tw_sums_load(f->b);
  for (int32_t tap = k->taps; tap > 0; tap--, at += TW_ROWS) {
    const int8_t *x[TW_ROWS];
    TW_UNROLLED for (int r = 0; r < rows; r++) x[r] = at[r] + offset;
    w = tw_multiply(rows, t, x, length, w, TW_FLIP);
  }
  if (sizeof(TW_Y) == 1 && k->way == TW_HIGH_WAY && wanted == rows) {
    store_rows(TW_HIGH_WAY, rows, k, f, t, y, pitch);
  } else if (sizeof(TW_Y) == 1 && k->way == TW_DOUBLE_WAY && wanted == rows) {
    store_rows(TW_DOUBLE_WAY, rows, k, f, t, y, pitch);
  } else if (sizeof(TW_Y) == 1 && k->way != TW_ANY_WAY) {
    for (int r = 0; r < wanted; r++) store_rows(k->way, 1, k, f, t + r, y + r * pitch, pitch);
  } else {
    for (int r = 0; r < wanted; r++) store_any(k, f, t[r], y + r * pitch);
  }
}

TW_APART void many_rows(const work *k, const int8_t *const *at, int32_t offset, const block *f, TW_Y *y, int32_t rows) {
  multiply_block(TW_ROWS, k, at, offset, f, y, rows);
}

TW_APART void some_rows(const work *k, const int8_t *const *at, int32_t offset, const block *f, TW_Y *y, int32_t rows) {
  multiply_block(TW_ROWS / 2, k, at, offset, f, y, rows);
}

TW_APART void one_row(const work *k, const int8_t *const *at, int32_t offset, const block *f, TW_Y *y) {
  multiply_block(1, k, at, offset, f, y, 1);
}

/* All pixels of a strip and a block of filters. */
static void on_strip(const work *k, int32_t pixels, int32_t offset, const block *f, TW_Y *y) {
  const int32_t pitch = k->p->out_channels * k->p->groups;
  const int8_t *const *at = k->at;
  for (; pixels > 0; pixels -= TW_ROWS, at += k->taps * TW_ROWS, y += TW_ROWS * pitch) {
    if (pixels == 1) {
      one_row(k, at, offset, f, y);
    } else if (pixels <= TW_ROWS / 2) {
      some_rows(k, at, offset, f, y, pixels);
    } else {
      many_rows(k, at, offset, f, y, tw_min(pixels, TW_ROWS));
    }
  }
}

/* ---- windows ---- */

/* The place of a window. */
typedef struct {
  int32_t top, left;
} place;

static int is_inside(const work *k, place at) {
  return at.top >= 0 && at.top <= k->inner_top && at.left >= 0 && at.left <= k->inner_left;
}

TW_ALWAYS place next_place(const tw_conv_params *p, place at) {
  at.left += p->stride_w;
  if (at.left + p->pad_left >= p->out_w * p->stride_w) at.left = -p->pad_left, at.top += p->stride_h;
  return at;
}

/* Where the taps of a window are. */
static void point_to_taps(const work *k, const int8_t *x, place at, const int8_t **to) {
  const tw_conv_params *const p = k->p;
  const int inside = is_inside(k, at);
  const int32_t column = p->dilation_w * k->pitch;
  for (int32_t r = 0; r < p->kernel_h; r++) {
    const int32_t top = at.top + r * p->dilation_h;
    const int8_t *from = x + ((int64_t)top * p->in_w + at.left) * k->pitch;
    if (inside) {
      for (int32_t c = 0; c < p->kernel_w; c++, to += TW_ROWS, from += column) *to = from;
      continue;
    }
    const int is_row = top >= 0 && top < p->in_h;
    for (int32_t c = 0; c < p->kernel_w; c++, to += TW_ROWS, from += column) {
      const int32_t left = at.left + c * p->dilation_w;
      *to = is_row && left >= 0 && left < p->in_w ? from : k->zeros;
    }
  }
}

/* Few bytes: whole words that overlap. */
TW_ALWAYS void copy(int8_t *to, const int8_t *from, int32_t count) {
  if (count >= 16) {
    for (int32_t i = 0; i + 16 <= count; i += 16) memcpy(to + i, from + i, 16);
    memcpy(to + count - 16, from + count - 16, 16);
  } else if (count >= 8) {
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, from + count - 8, 8);
    memcpy(to, &first, 8);
    memcpy(to + count - 8, &last, 8);
  } else if (count >= 4) {
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + count - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + count - 4, &last, 4);
  } else {
    for (int32_t i = 0; i < count; i++) to[i] = from[i];
  }
}

/* The window of a pixel and a group; `x` is the group's first channel. */
static void gather(const work *k, const int8_t *x, place at, int8_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t channels = p->in_channels, row = p->kernel_w * channels;
  const tw_range rows = tw_inside(at.top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(at.left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t count = columns.end - columns.first;
  if (rows.end - rows.first < p->kernel_h || count < p->kernel_w) memset(to, p->x_zero, (size_t)(p->kernel_h * row));
  for (int32_t r = rows.first; r < rows.end; r++) {
    const int64_t pixel = (int64_t)(at.top + r * p->dilation_h) * p->in_w + at.left + columns.first * p->dilation_w;
    const int8_t *from = x + pixel * k->pitch;
    int8_t *into = to + r * row + columns.first * channels;
    if (p->dilation_w == 1 && p->groups == 1) {
      copy(into, from, count * channels);
    } else {
      for (int32_t c = 0; c < count; c++) copy(into + c * channels, from + c * p->dilation_w * k->pitch, channels);
    }
  }
}

/* Finds the windows of some pixels, and the place of the next. The last block is filled up with the last pixel. */
static place find_windows(const work *k, const int8_t *x, place at, int32_t pixels) {
  const int32_t all = (pixels + TW_ROWS - 1) / TW_ROWS * TW_ROWS;
  place last = at;
  for (int32_t i = 0; i < all; i++) {
    const int8_t **to = k->at + i / TW_ROWS * k->taps * TW_ROWS + i % TW_ROWS;
    if (i < pixels) last = at;
    if (k->window) {
      *to = k->windows + (i < pixels ? i : pixels - 1) * k->window;
      if (i < pixels) gather(k, x, last, k->windows + i * k->window);
    } else {
      point_to_taps(k, x, last, to);
    }
    if (i < pixels) at = next_place(k->p, at);
  }
  return at;
}

/* ---- all of it ---- */

/* The filters of a group on a strip. */
static void all_filters(const work *k, const int8_t *w, const int32_t *b, const int32_t *mul, const int32_t *add,
                        int32_t pixels, int32_t offset, TW_Y *y) {
  const int32_t size = (k->taps * k->length + 3) / 4 * TW_STEP;
  block f = {w, b, mul, add, 0};
  for (int32_t done = 0; done < k->p->out_channels; done += TW_COLUMNS) {
    f.filters = tw_min(TW_COLUMNS, k->p->out_channels - done);
    on_strip(k, pixels, offset, &f, y + done);
    f.w += size;
    f.b += TW_COLUMNS;
    f.mul = f.mul ? f.mul + TW_COLUMNS : NULL;
    f.add = f.add ? f.add + TW_COLUMNS : NULL;
  }
}

static void one_image(const tw_conv_dot_params *params, work *k, const int8_t *x, const int8_t *w, const int32_t *b,
                      const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t pixels = p->out_h * p->out_w, blocks = (p->out_channels + TW_COLUMNS - 1) / TW_COLUMNS;
  const int64_t size = (int64_t)blocks * ((k->taps * k->length + 3) / 4 * TW_STEP);
  place at = {-p->pad_top, -p->pad_left};
  for (int32_t done = 0; done < pixels; done += params->strip) {
    const int32_t count = tw_min(params->strip, pixels - done);
    place next = at;
    for (int32_t g = 0; g < p->groups; g++) {
      const int32_t first = g * blocks * TW_COLUMNS, channel = g * p->in_channels;
      if (g == 0 || k->window) next = find_windows(k, k->window ? x + channel : x, at, count);
      all_filters(k, w + g * size, b + first, mul ? mul + first : NULL, add ? add + first : NULL, count,
                  k->window ? 0 : channel, y + (int64_t)done * p->out_channels * p->groups + g * p->out_channels);
    }
    at = next;
  }
}

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = p->kernel_h * p->kernel_w, channels = p->in_channels * p->groups;
  const int32_t pixels = (params->strip + TW_ROWS - 1) / TW_ROWS * TW_ROWS;
  work k = {p, (tw_way)params->way, params->window ? 1 : taps, params->window ? params->window : p->in_channels, channels,
            p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h, p->in_w - 1 - (p->kernel_w - 1) * p->dilation_w,
            NULL, NULL, params->window, scratch};
  int8_t *const behind = (int8_t *)(k.at + pixels * k.taps);
  if (params->window) {
    k.windows = behind;
    memset(behind, 0, (size_t)(pixels * params->window));
  } else {
    k.zeros = behind;
    memset(behind, p->x_zero, (size_t)channels);
  }
  for (int32_t image = 0; image < p->batch; image++) {
    one_image(params, &k, (const int8_t *)x + (int64_t)image * p->in_h * p->in_w * channels, w, b, mul, add,
              y + (int64_t)image * p->out_h * p->out_w * p->out_channels * p->groups);
  }
}
