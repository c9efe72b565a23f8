/* Convolution of bytes or 16 bits, channels last, with filters in blocks of four: [block][vector of a window][filter].
 *
 * Windows of one tap are multiplied where they are. Others are gathered first, a strip of pixels at a time. */
#ifndef TW_NAME
#define TW_NAME tw_conv_mve
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include <string.h>

#include "conv_mve_sizes.h"
#include "vectors_mve.h"

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

/* The totals of four filters; of one whole vector at least. */
TW_ALWAYS int32x4_t products(const TW_X *x, const int8_t *w, int32_t chunks, int32_t rest, const int32_t *b) {
  tw_totals t = {b[0], b[1], b[2], b[3]};
  int32_t i = 0;
  do {
    tw_multiply(&t, tw_load(x + i * TW_VECTOR), w + i * TW_FILTERS * TW_VECTOR);
  } while (++i < chunks);
  if (rest) {
    const tw_elements last = tw_load_some(x + chunks * TW_VECTOR, tw_first(rest));
    tw_multiply(&t, last, w + chunks * TW_FILTERS * TW_VECTOR);
  }
  return tw_vector_of(t.t0, t.t1, t.t2, t.t3);
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
  if (way != TW_ANY_WAY) {
    tw_store_four(y, total);
  } else {
    tw_store(y, total, vctp32q((uint32_t)filters));
  }
}

/* Windows of more than a vector. */
TW_ALWAYS void several_vectors(tw_vector_way way, const tw_conv_params *p, const strip *s, const block *k,
                               int32_t rest) {
  const scaling by = scaling_of(way, p, k);
  const int8_t *const w = k->w;
  const int32_t *const b = k->b;
  const int32_t chunks = s->chunks, filters = k->filters, x_step = s->x_step, y_step = s->y_step;
  const TW_X *x = s->x;
  TW_Y *y = s->y;
  for (int32_t i = s->pixels; i > 0; i--, x += x_step, y += y_step) {
    finish(way, &by, products(x, w, chunks, rest, b), y, filters);
  }
}

/* Of one at the most: the weights stay in registers. */
TW_ALWAYS void one_vector(tw_vector_way way, const tw_conv_params *p, const strip *s, const block *k) {
  const scaling by = scaling_of(way, p, k);
  const int32_t *const b = k->b;
  const tw_elements w0 = tw_weights(k->w), w1 = tw_weights(k->w + TW_VECTOR);
  const tw_elements w2 = tw_weights(k->w + 2 * TW_VECTOR), w3 = tw_weights(k->w + 3 * TW_VECTOR);
  const mve_pred16_t some = tw_first(s->rest ? s->rest : TW_VECTOR);
  const int32_t x_step = s->x_step, y_step = s->y_step, filters = k->filters;
  const TW_X *x = s->x;
  TW_Y *y = s->y;
  for (int32_t i = s->pixels; i > 0; i--, x += x_step, y += y_step) {
    const tw_elements from = tw_load_some(x, some);
    const int32x4_t total = tw_vector_of(tw_dot(from, w0), tw_dot(from, w1), tw_dot(from, w2), tw_dot(from, w3));
    finish(way, &by, vaddq_s32(total, vldrwq_s32(b)), y, filters);
  }
}

/* The filters of a strip from the first of some blocks on. */
TW_ALWAYS void next_block(strip *s, block *k) {
  k->w += (s->chunks + (s->rest > 0)) * TW_FILTERS * TW_VECTOR;
  k->b += TW_FILTERS;
  k->mul = k->mul ? k->mul + TW_FILTERS : NULL;
  k->add = k->add ? k->add + TW_FILTERS : NULL;
  k->filters -= TW_FILTERS;
  s->y += TW_FILTERS;
}

/* Functions of their own: each has all registers. But for TW_ANY_WAY, blocks are whole, and of several vectors there is
 * no rest. */
#define TW_BLOCK_FUNCTIONS(NAME, WAY, REST)                                                                        \
  TW_APART void several_##NAME(const tw_conv_params *p, strip s, block k, int32_t blocks) {                        \
    for (; blocks > 0; blocks--, next_block(&s, &k)) several_vectors(WAY, p, &s, &k, REST);                        \
  }                                                                                                                \
  TW_APART void one_##NAME(const tw_conv_params *p, strip s, block k, int32_t blocks) {                            \
    for (; blocks > 0; blocks--, next_block(&s, &k)) one_vector(WAY, p, &s, &k);                                   \
  }

TW_BLOCK_FUNCTIONS(any, TW_ANY_WAY, s.rest)
TW_BLOCK_FUNCTIONS(short, TW_SHORT_WAY, 0)
#if TW_HAS_UP_WAY
TW_BLOCK_FUNCTIONS(up, TW_UP_WAY, 0)
#define TW_UP(NAME) NAME##_up
#else
#define TW_UP(NAME) NAME##_short
#endif
#if TW_HAS_ONCE_WAY
TW_BLOCK_FUNCTIONS(once, TW_ONCE_WAY, 0)
#endif

/* All filters of a group on a strip. */
static void on_strip(const tw_conv_mve_params *params, const int8_t *w, const int32_t *b, const int32_t *mul,
                     const int32_t *add, strip s) {
  const tw_conv_params *const p = &params->conv;
  const int is_one = s.chunks + (s.rest > 0) == 1;
  const int32_t all = (p->out_channels + TW_FILTERS - 1) / TW_FILTERS;
  const int32_t whole = params->way == TW_ANY_WAY || (s.rest && !is_one) ? 0 : p->out_channels / TW_FILTERS;
  block k = {w, b, mul, add, p->out_channels};
  if (whole && params->way == TW_SHORT_WAY) {
    (is_one ? one_short : several_short)(p, s, k, whole);
#if TW_HAS_ONCE_WAY
  } else if (whole && params->way == TW_ONCE_WAY) {
    (is_one ? one_once : several_once)(p, s, k, whole);
#endif
  } else if (whole) {
    (is_one ? TW_UP(one) : TW_UP(several))(p, s, k, whole);
  }
  if (whole == all) return;
  for (int32_t i = 0; i < whole; i++) next_block(&s, &k);
  (is_one ? one_any : several_any)(p, s, k, all - whole);
}

static void copy(TW_X *to, const TW_X *from, int32_t count) {
  for (; count > 0; count -= TW_VECTOR, to += TW_VECTOR, from += TW_VECTOR) {
    const mve_pred16_t some = tw_first(count);
    tw_write_some(to, tw_read_some(from, some), some);
  }
}

static void fill(TW_X *to, int32_t value, int32_t count) {
  for (; count > 0; count -= TW_VECTOR, to += TW_VECTOR) {
    tw_write_some(to, tw_all_of(value), tw_first(count));
  }
}

/* The window of a pixel: what is outside the image has the value that stands for zero. `x` is the group's first
 * channel. */
TW_APART void gather(const tw_conv_params *p, const TW_X *x, int32_t top, int32_t left, TW_X *to) {
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
  const mve_pred16_t some = tw_first(shape.length);
  for (int32_t r = shape.rows; r > 0; r--, from += shape.next, to += shape.length) {
    tw_write(to, tw_read_some(from, some));
  }
}

/* The place of a window, and the windows that need no padding. */
typedef struct {
  int32_t top, left;
  int32_t last_left; /* of a row of windows */
  int32_t inner_top, inner_left;
} place;

/* Windows of some pixels, one behind the other, and the place of the next. */
TW_APART place gather_some(const tw_conv_params *p, const TW_X *x, place at, patch shape, int32_t pitch, int32_t pixels,
                           TW_X *to) {
  const int32_t step = p->in_channels * p->groups, stride = p->stride_w, width = p->in_w * step;
  for (; pixels > 0; pixels--, to += pitch) {
    if (at.top >= 0 && at.top <= at.inner_top && at.left >= 0 && at.left <= at.inner_left) {
      gather_inside(shape, x + at.top * width + at.left * step, to);
    } else {
      gather(p, x, at.top, at.left, to);
    }
    at.left += stride;
    if (at.left > at.last_left) at.left = -p->pad_left, at.top += p->stride_h;
  }
  return at;
}

/* An image and a group, a strip of pixels at a time. */
static void by_strips(const tw_conv_mve_params *params, const TW_X *x, const int8_t *w, const int32_t *b,
                      const int32_t *mul, const int32_t *add, TW_Y *y, TW_X *windows) {
  const tw_conv_params *const p = &params->conv;
  const int32_t step = p->in_channels * p->groups, pixels = p->out_h * p->out_w;
  const patch shape = {p->kernel_h, p->kernel_w * p->in_channels, p->dilation_h * p->in_w * step};
  const int32_t pitch = (shape.rows * shape.length + TW_VECTOR - 1) / TW_VECTOR * TW_VECTOR;
  place at = {-p->pad_top, -p->pad_left, (p->out_w - 1) * p->stride_w - p->pad_left,
              p->in_h - 1 - (p->kernel_h - 1) * p->dilation_h,
              p->dilation_w * p->groups == 1 ? p->in_w - p->kernel_w : -1};
  strip s = {windows, y, 0, pitch, p->groups * p->out_channels, pitch / TW_VECTOR, 0};
  for (int32_t done = 0; done < pixels; done += s.pixels) {
    s.pixels = tw_min(params->strip, pixels - done);
    s.y = y + done * s.y_step;
    at = gather_some(p, x, at, shape, pitch, s.pixels, windows);
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
