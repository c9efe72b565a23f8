/* Convolution of bytes, channels last, with filters in blocks of four: [block][16 elements of a window][filter][16].
 *
 * Windows of one tap are multiplied where they are. Others are gathered first, a strip of pixels at a time. */
#ifndef TW_NAME
#define TW_NAME tw_conv_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include <string.h>

#include "conv_mve.h"
#include "vectors_mve.h"

#define TW_FILTERS 4

/* Windows of some pixels, and where their results go. */
typedef struct {
  const TW_X *x;
  TW_Y *y;
  int32_t pixels;
  int32_t x_step, y_step; /* from pixel to pixel */
  int32_t chunks, rest;   /* vectors of a window; elements behind them */
} strip;

/* Four filters. */
typedef struct {
  const int8_t *w;
  const int32_t *b, *mul, *add;
  int32_t filters; /* that are wanted */
} block;

TW_ALWAYS int32x4_t vector_of(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32x4_t made = vdupq_n_s32(a);
  made = vsetq_lane_s32(b, made, 1);
  made = vsetq_lane_s32(c, made, 2);
  return vsetq_lane_s32(d, made, 3);
}

typedef struct {
  int32_t t0, t1, t2, t3;
} totals;

TW_ALWAYS void multiply(totals *t, int8x16_t x, const int8_t *w) {
  t->t0 = vmladavaq_s8(t->t0, x, vldrbq_s8(w));
  t->t1 = vmladavaq_s8(t->t1, x, vldrbq_s8(w + TW_VECTOR));
  t->t2 = vmladavaq_s8(t->t2, x, vldrbq_s8(w + 2 * TW_VECTOR));
  t->t3 = vmladavaq_s8(t->t3, x, vldrbq_s8(w + 3 * TW_VECTOR));
}

/* The totals of four filters. */
TW_ALWAYS int32x4_t products(const TW_X *x, const int8_t *w, int32_t chunks, int32_t rest, const int32_t *b) {
  totals t = {b[0], b[1], b[2], b[3]};
  for (int32_t i = 0; i < chunks; i++) multiply(&t, tw_load(x + i * TW_VECTOR), w + i * TW_FILTERS * TW_VECTOR);
  if (rest) {
    const int8x16_t last = tw_load_some(x + chunks * TW_VECTOR, vctp8q((uint32_t)rest));
    multiply(&t, last, w + chunks * TW_FILTERS * TW_VECTOR);
  }
  return vector_of(t.t0, t.t1, t.t2, t.t3);
}

/* What totals of a block become. */
typedef struct {
  tw_vector_limits limits;
  int32x4_t mul, add;
} scaling;

TW_ALWAYS scaling scaling_of(tw_vector_way way, const tw_conv_params *p, const block *k) {
  scaling made = {0};
  if (sizeof(TW_Y) == 4) return made;
  made.limits = tw_vector_limits_of(&p->requant);
  made.mul = vldrwq_s32(k->mul);
  made.add = tw_vector_summands(way, &p->requant, k->add);
  return made;
}

TW_ALWAYS void finish(tw_vector_way way, const scaling *s, int32x4_t total, TW_Y *y, int32_t filters) {
  if (sizeof(TW_Y) < 4) total = tw_vector_requantise(way, &s->limits, total, s->mul, s->add);
  if (way == TW_SHORT_WAY) {
    tw_store_four(y, total);
  } else {
    tw_store(y, total, vctp32q((uint32_t)filters));
  }
}

TW_ALWAYS void long_windows(tw_vector_way way, const tw_conv_params *p, const strip *s, const block *k, int32_t rest) {
  const scaling by = scaling_of(way, p, k);
  const int32_t chunks = s->chunks, x_step = s->x_step, y_step = s->y_step;
  const TW_X *x = s->x;
  TW_Y *y = s->y;
  for (int32_t i = s->pixels; i > 0; i--, x += x_step, y += y_step) {
    finish(way, &by, products(x, k->w, chunks, rest, k->b), y, k->filters);
  }
}

/* At most 16 elements: the weights stay in registers. */
TW_ALWAYS void short_windows(tw_vector_way way, const tw_conv_params *p, const strip *s, const block *k) {
  const scaling by = scaling_of(way, p, k);
  const int8x16_t w0 = vldrbq_s8(k->w), w1 = vldrbq_s8(k->w + TW_VECTOR);
  const int8x16_t w2 = vldrbq_s8(k->w + 2 * TW_VECTOR), w3 = vldrbq_s8(k->w + 3 * TW_VECTOR);
  const mve_pred16_t some = vctp8q((uint32_t)(s->rest ? s->rest : TW_VECTOR));
  const int32_t x_step = s->x_step, y_step = s->y_step;
  const TW_X *x = s->x;
  TW_Y *y = s->y;
  for (int32_t i = s->pixels; i > 0; i--, x += x_step, y += y_step) {
    const int8x16_t from = tw_load_some(x, some);
    const int32x4_t total = vector_of(vmladavq_s8(from, w0), vmladavq_s8(from, w1), vmladavq_s8(from, w2),
                                      vmladavq_s8(from, w3));
    finish(way, &by, vaddq_s32(total, vldrwq_s32(k->b)), y, k->filters);
  }
}

/* The short way has whole blocks only, and long windows of whole vectors. */
static void on_block(tw_vector_way way, const tw_conv_params *p, const strip *s, const block *k) {
  const int is_short = s->chunks + (s->rest > 0) == 1;
  if (way == TW_ANY_WAY || k->filters < TW_FILTERS || (s->rest && !is_short)) {
    long_windows(TW_ANY_WAY, p, s, k, s->rest);
  } else if (is_short) {
    short_windows(TW_SHORT_WAY, p, s, k);
  } else {
    long_windows(TW_SHORT_WAY, p, s, k, 0);
  }
}

/* All filters of a group on a strip. */
static void on_strip(const tw_conv_mve_params *params, const int8_t *w, const int32_t *b, const int32_t *mul,
                     const int32_t *add, strip s) {
  const tw_conv_params *const p = &params->conv;
  const int32_t size = (s.chunks + (s.rest > 0)) * TW_FILTERS * TW_VECTOR;
  for (int32_t f = 0; f < p->out_channels; f += TW_FILTERS, s.y += TW_FILTERS, w += size) {
    const block k = {w, b + f, mul ? mul + f : NULL, add ? add + f : NULL, p->out_channels - f};
    on_block((tw_vector_way)params->way, p, &s, &k);
  }
}

static void copy(TW_X *to, const TW_X *from, int32_t count) {
  for (; count > 0; count -= TW_VECTOR, to += TW_VECTOR, from += TW_VECTOR) {
    const mve_pred16_t some = vctp8q((uint32_t)count);
    vstrbq_p_s8((int8_t *)to, vldrbq_z_s8((const int8_t *)from, some), some);
  }
}

static void fill(TW_X *to, int32_t value, int32_t count) {
  for (; count > 0; count -= TW_VECTOR, to += TW_VECTOR) {
    vstrbq_p_s8((int8_t *)to, vdupq_n_s8((int8_t)value), vctp8q((uint32_t)count));
  }
}

/* The window of a pixel: what is outside the image has the value that stands for zero. `x` is the group's first
 * channel. */
static void gather(const tw_conv_params *p, const TW_X *x, int32_t top, int32_t left, TW_X *to) {
  const int32_t channels = p->in_channels, step = channels * p->groups, length = p->kernel_w * channels;
  const tw_range rows = tw_inside(top, p->dilation_h, p->in_h, p->kernel_h);
  const tw_range columns = tw_inside(left, p->dilation_w, p->in_w, p->kernel_w);
  const int32_t count = columns.end - columns.first;
  const int32_t next = p->dilation_h * p->in_w * step;
  const TW_X *from = x + ((top + rows.first * p->dilation_h) * p->in_w + left + columns.first * p->dilation_w) * step;
  if (rows.end - rows.first < p->kernel_h || count < p->kernel_w) fill(to, p->x_zero, p->kernel_h * length);
  to += rows.first * length + columns.first * channels;
  for (int32_t r = rows.first; r < rows.end; r++, from += next, to += length) {
    if (p->dilation_w * p->groups == 1) {
      copy(to, from, count * channels);
    } else {
      for (int32_t i = 0; i < count; i++) copy(to + i * channels, from + i * p->dilation_w * step, channels);
    }
  }
}

/* Rows of a window that lie in memory as they are wanted. */
typedef struct {
  int32_t rows, length;
  int32_t next; /* from row to row */
} patch;

/* A window inside the image. Of short rows a whole vector is stored each: what is too much is written again, or lies
 * behind the last window. */
TW_ALWAYS void gather_inside(patch shape, const TW_X *from, TW_X *to) {
  if (shape.length > TW_VECTOR) {
    for (int32_t r = shape.rows; r > 0; r--, from += shape.next, to += shape.length) copy(to, from, shape.length);
    return;
  }
  const mve_pred16_t some = vctp8q((uint32_t)shape.length);
  for (int32_t r = shape.rows; r > 0; r--, from += shape.next, to += shape.length) {
    vstrbq_s8((int8_t *)to, vldrbq_z_s8((const int8_t *)from, some));
  }
}

/* An image and a group, a strip of pixels at a time. */
static void by_strips(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b,
                      const int32_t *mul, const int32_t *add, TW_Y *y, TW_X *windows) {
  const tw_conv_params *const p = &params->conv;
  const int32_t step = p->in_channels * p->groups, pixels = p->out_h * p->out_w;
  const patch shape = {p->kernel_h, p->kernel_w * p->in_channels, p->dilation_h * p->in_w * step};
  const int32_t pitch = (shape.rows * shape.length + TW_VECTOR - 1) / TW_VECTOR * TW_VECTOR;
  const int32_t last_top = p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h;
  const int32_t last_left = p->dilation_w * p->groups == 1 ? p->in_w - p->kernel_w : -1;
  int32_t top = -p->pad_top, column = 0;
  strip s = {windows, y, 0, pitch, p->groups * p->out_channels, pitch / TW_VECTOR, 0};
  for (int32_t at = 0; at < pixels; at += s.pixels) {
    TW_X *to = windows;
    s.pixels = tw_min(params->strip, pixels - at);
    s.y = y + at * s.y_step;
    for (int32_t i = s.pixels; i > 0; i--, to += pitch) {
      const int32_t left = column * p->stride_w - p->pad_left;
      if (top >= 0 && top <= last_top && left >= 0 && left <= last_left) {
        gather_inside(shape, x + (top * p->in_w + left) * step, to);
      } else {
        gather(p, x, top, left, to);
      }
      if (++column == p->out_w) column = 0, top += p->stride_h;
    }
    on_strip(params, w, b, mul, add, s);
  }
}

/* All pixels of an image where they are. */
static void in_place(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b,
                     const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_conv_params *const p = &params->conv;
  const int32_t channels = p->in_channels;
  const strip s = {x, y, p->out_h * p->out_w, channels * p->groups, p->out_channels * p->groups,
                   channels / TW_VECTOR, channels % TW_VECTOR};
  on_strip(params, w, b, mul, add, s);
}

void TW_NAME(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  const int32_t taps = p->kernel_h * p->kernel_w * p->in_channels;
  const int32_t filters = (p->out_channels + TW_FILTERS - 1) / TW_FILTERS * TW_FILTERS;
  const int32_t size = (taps + TW_VECTOR - 1) / TW_VECTOR * TW_VECTOR * filters;
  for (int32_t image = 0; image < p->batch; image++) {
    for (int32_t group = 0; group < p->groups; group++) {
      const int32_t first = group * filters;
      const TW_X *const from = x + image * p->in_h * p->in_w * p->in_channels * p->groups + group * p->in_channels;
      TW_Y *const to = y + image * p->out_h * p->out_w * p->out_channels * p->groups + group * p->out_channels;
      const int32_t *const factors = mul ? mul + first : NULL, *const summands = add ? add + first : NULL;
      if (params->strip) {
        by_strips(params, from, w + group * size, b + first, factors, summands, to, scratch);
      } else {
        in_place(params, from, w + group * size, b + first, factors, summands, to);
      }
    }
  }
}
