/* Convolution of bytes in which each filter sees one channel, channels last, for vectors of 8 or 16 totals. Constants are
 * [vector][lane]: a vector is some channels of a pixel, or where channels are fewer than lanes, those of several pixels;
 * weights are [vector][column of the window][four rows][lane][4].
 *
 * Four rows of the image are first put together, the four bytes of a channel of a pixel side by side, with pixels apart as
 * the stride takes them and with padding around them: all windows lie inside then, and neighbours in a row of results are
 * neighbours there. Four rows hold two windows of at most three rows: two rows of results share them. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_lanes
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "depthwise_lanes_sizes.h"
#include "dot.h"

#define TW_LANES (TW_VECTOR_BYTES / 4)
#define TW_UNITS 4 /* vectors at a time */
#define TW_KEPT 3  /* fours of weights that stay in registers */

#if defined(TW_DOT_VNNI)
#define TW_FLIPS (TW_IS_UNSIGNED(TW_X) ? 0 : 0x80)
#else
#define TW_FLIPS (TW_IS_UNSIGNED(TW_X) ? 0x80 : 0)
#endif

typedef uint8_t tw_lane_bytes __attribute__((vector_size(TW_LANES)));

/* What is the same for all vectors. */
typedef struct {
  const tw_conv_params *p;
  tw_way way;
  tw_lanes_plan plan;
  int32_t *fours; /* rows that are put together */
  const int8_t *w;
  const int32_t *b, *mul, *add;
} work;

/* Channels of a pixel that are computed of a row before the next ones. */
typedef struct {
  int32_t vector, vectors, first, channels;
} group;

/* Rows of results: sets of one row, or of two that share what they read. */
typedef struct {
  int32_t row, rows, sets;
} some_rows;

/* ---- rows that are put together ---- */

/* GCC converts such vectors element by element. */
TW_ALWAYS tw_words widened(const int8_t *from) {
#if defined(__AVX512F__) && TW_VECTOR_BYTES == 64
  return (tw_words)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
#elif defined(__AVX2__) && TW_VECTOR_BYTES == 32
  return (tw_words)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
#else
  tw_lane_bytes bytes;
  memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(bytes, tw_words);
#endif
}

TW_ALWAYS void put_together(const int8_t *const *row, int64_t at, int32_t *to) {
  const tw_words flips = (tw_words){0} + (int32_t)(TW_FLIPS * 0x01010101u);
  const tw_words made = ((widened(row[0] + at) | widened(row[1] + at) << 8) | widened(row[2] + at) << 16) |
                        widened(row[3] + at) << 24;
  const tw_words flipped = made ^ flips;
  memcpy(to, &flipped, sizeof flipped);
}

/* The same of the last bytes of rows. */
static void put_end_together(const int8_t *const *row, int64_t at, int32_t bytes, int32_t *to) {
  int8_t end[4][TW_LANES];
  const int8_t *const copies[4] = {end[0], end[1], end[2], end[3]};
  memset(end, 0, sizeof end);
  for (int r = 0; r < 4; r++) memcpy(end[r], row[r] + at, (size_t)bytes);
  put_together(copies, 0, to);
}

/* So many pixels beside the image. */
static void put_padding(const work *k, const group *g, int32_t pixels, int32_t *to) {
  const int32_t zero = (int32_t)((((uint8_t)k->p->x_zero) ^ TW_FLIPS) * 0x01010101u);
  for (int32_t i = 0; i < pixels * g->channels; i++) to[i] = zero;
}

/* Some neighbouring pixels, `step` bytes apart. Each writes whole vectors: what is too much is written again. */
static void put_pixels(const work *k, const group *g, const int8_t *const *row, int64_t at, int64_t step, int32_t pixels,
                       int32_t *to) {
  const int32_t channels = g->channels;
  const int64_t end = (int64_t)k->p->in_w * k->plan.channels;
  if (channels == step) {
    const int64_t bytes = (int64_t)pixels * channels;
    int64_t i = 0;
    for (; i + TW_LANES <= bytes; i += TW_LANES) put_together(row, at + i, to + i);
    if (i < bytes) put_end_together(row, at + i, (int32_t)(bytes - i), to + i);
    return;
  }
  for (; pixels > 0; pixels--, at += step, to += channels) {
    if (channels < TW_LANES) {
      if (at + TW_LANES <= end) put_together(row, at, to);
      else put_end_together(row, at, channels, to);
      continue;
    }
    for (int32_t c = 0; c + TW_LANES < channels; c += TW_LANES) put_together(row, at + c, to + c);
    put_together(row, at + channels - TW_LANES, to + channels - TW_LANES);
  }
}

/* Four rows of the image from `top` on, all phases of the stride. */
static void put_rows(const work *k, const group *g, const int8_t *x, const int8_t *zeros, int32_t top, int32_t *to) {
  const tw_conv_params *const p = k->p;
  const int32_t stride = p->stride_w, slots = k->plan.slots;
  const int8_t *row[4];
  for (int32_t r = 0; r < 4; r++) {
    const int32_t at = top + r * p->dilation_h;
    row[r] = at >= 0 && at < p->in_h ? x + (int64_t)at * p->in_w * k->plan.channels + g->first : zeros;
  }
  for (int32_t phase = 0; phase < stride; phase++, to += slots * g->channels) {
    const int32_t column = phase - p->pad_left; /* of the image, that the first slot is */
    const int32_t before = tw_min(slots, column < 0 ? (-column + stride - 1) / stride : 0);
    const int32_t first = column + before * stride, last = column + (slots - 1) * stride;
    const int32_t seen = first >= p->in_w || last < first ? 0 : (tw_min(last, p->in_w - 1) - first) / stride + 1;
    put_padding(k, g, before, to);
    put_pixels(k, g, row, (int64_t)first * k->plan.channels, (int64_t)stride * k->plan.channels, seen,
               to + before * g->channels);
    put_padding(k, g, slots - before - seen, to + (before + seen) * g->channels);
  }
}

/* ---- results ---- */

TW_ALWAYS tw_words words_at(const void *from) {
  tw_words made;
  memcpy(&made, from, sizeof made);
  return made;
}

/* Sums of products of bytes that are put together with weights. */
TW_ALWAYS tw_words plus_products(tw_words total, tw_words x, tw_words w) {
#if defined(TW_DOT_VNNI)
  return tw_add_fours(total, (tw_bytes)x, (tw_bytes)w);
#else
  return total + tw_products_of_fours((tw_bytes)x, (tw_bytes)w);
#endif
}

/* What totals begin with. */
TW_ALWAYS tw_words start_of(const work *k, const int8_t *w, int32_t vector) {
  tw_words made = words_at(k->b + vector * TW_LANES);
#if defined(TW_DOT_VNNI)
  tw_words too_much = {0};
  for (int32_t i = 0; i < k->plan.fours; i++) {
    too_much = tw_add_fours(too_much, TW_RAISED_ZERO, tw_bytes_load(w + i * TW_VECTOR_BYTES));
  }
  made -= too_much;
#else
  (void)w;
#endif
  return made;
}

/* A vector along rows of results. */
typedef struct {
  const int32_t *x; /* its first lane of what is put together */
  const int8_t *w;
  tw_words start;
  int32_t vector, units; /* that a row has; the last may have fewer bytes */
  int64_t step, set;     /* of lanes, from unit to unit and from set to set of rows */
  int32_t sets;
  TW_Y *y;
  int64_t y_step, y_row, bytes; /* of results, from unit to unit and from row to row, and of a row from `y` on */
} walk;

/* Another way than by vectors, or results that are no bytes. */
TW_APART void store_any(const work *k, const walk *at, const tw_words *t, int32_t unit, TW_Y *y) {
  int32_t total[TW_LANES];
  const tw_requant requant = k->p->requant;
  const int32_t *const mul = k->mul ? k->mul + at->vector * TW_LANES : NULL;
  const int32_t *const add = k->add ? k->add + at->vector * TW_LANES : NULL;
  for (int32_t u = 0; u < TW_UNITS && unit + u < at->units; u++, y += at->y_step) {
    const int32_t count = (int32_t)tw_min(TW_LANES, at->bytes - (unit + u) * at->y_step);
    memcpy(total, t + u, sizeof total);
    for (int32_t i = 0; i < count; i++) {
      y[i] = (TW_Y)(k->p->requantised ? tw_requantise(&requant, total[i], mul[i], add ? add[i] : 0) : total[i]);
    }
  }
}

#ifdef TW_REQUANTS_IN_VECTORS
/* Units at the end of a row. */
TW_APART void store_some(const walk *at, const int8_t *made, int32_t unit, TW_Y *y) {
  for (int32_t u = 0; u < TW_UNITS && unit + u < at->units; u++, y += at->y_step, made += TW_LANES) {
    memcpy(y, made, (size_t)tw_min(TW_LANES, at->bytes - (unit + u) * at->y_step));
  }
}

typedef struct {
  tw_scale_all all;
  tw_scale_lanes lanes;
} scaling;
#else
typedef struct {
  int32_t none;
} scaling;
#endif

TW_ALWAYS scaling scaling_of(tw_way way, const work *k, const walk *at) {
#ifdef TW_REQUANTS_IN_VECTORS
  const int32_t lane = at->vector * TW_LANES;
  scaling made = {tw_scale_all_of(way, &k->p->requant), {{0}, {0}, {0}, {0}}};
  if (way != TW_ANY_WAY) made.lanes = tw_scale_lanes_of(way, k->mul + lane, k->add ? k->add + lane : NULL);
#else
  const scaling made = {0};
  (void)way, (void)k, (void)at;
#endif
  return made;
}

/* Of so many units, 2 or TW_UNITS. */
TW_ALWAYS void store(tw_way way, int units, const work *k, const walk *at, const scaling *s, tw_words *t, int32_t unit,
                     TW_Y *y) {
  y += unit * at->y_step;
#ifdef TW_REQUANTS_IN_VECTORS
  if (sizeof(TW_Y) == 1 && way != TW_ANY_WAY) {
    TW_UNROLLED for (int u = 0; u < units; u++) t[u] = tw_scaled(way, &s->all, &s->lanes, t[u]);
    const tw_bytes made = tw_bytes_of_vectors(&s->all, TW_IS_UNSIGNED(TW_Y), t);
    if ((unit + units - 1) * at->y_step + TW_LANES > at->bytes) {
      store_some(at, (const int8_t *)&made, unit, y);
    } else if (units == TW_UNITS && at->y_step == TW_LANES) {
      memcpy(y, &made, sizeof made);
    } else {
      TW_UNROLLED for (int u = 0; u < units; u++) {
        memcpy(y + u * at->y_step, (const int8_t *)&made + u * TW_LANES, TW_LANES);
      }
    }
    return;
  }
#endif
  (void)way, (void)units, (void)s;
  store_any(k, at, t, unit, y);
}

/* What stays in registers along rows. */
typedef struct {
  tw_words w[TW_KEPT];
  int32_t place[TW_KEPT];
} held;

/* Some units of one row of results, or of two: two or TW_UNITS, a constant; `kept` where all weights are held. */
TW_ALWAYS void some_units(tw_way way, int rows, int kept, int units, const work *k, const walk *at, const scaling *s,
                          const held *h, int32_t unit, const int32_t *x, TW_Y *y) {
  const int64_t step = at->step;
  const int32_t *const from = x + unit * step;
  tw_words t[2][TW_UNITS];
  TW_UNROLLED for (int u = 0; u < TW_UNITS; u++) t[0][u] = t[1][u] = at->start;
  if (kept) {
    TW_UNROLLED for (int i = 0; i < TW_KEPT; i++) {
      TW_UNROLLED for (int u = 0; u < units; u++) {
        const tw_words four = words_at(from + h->place[i] + u * step);
        t[0][u] = plus_products(t[0][u], four, h->w[i]);
        if (rows == 2) t[1][u] = plus_products(t[1][u], four, h->w[i] << 8);
      }
    }
  } else {
    for (int32_t i = 0; i < k->plan.fours; i++) {
      const tw_words own = words_at(at->w + i * TW_VECTOR_BYTES), next = own << 8;
      TW_UNROLLED for (int u = 0; u < units; u++) {
        const tw_words four = words_at(from + k->plan.place[i] + u * step);
        t[0][u] = plus_products(t[0][u], four, own);
        if (rows == 2) t[1][u] = plus_products(t[1][u], four, next);
      }
    }
  }
  store(way, units, k, at, s, t[0], unit, y);
  if (rows == 2) store(way, units, k, at, s, t[1], unit, y + at->y_row);
}

/* A vector along all sets of rows. */
TW_ALWAYS void along(tw_way way, int rows, int kept, const work *k, const walk *given) {
  const walk at = *given;
  const scaling s = scaling_of(way, k, &at);
  held h = {{{0}}, {0}};
  if (kept) {
    memcpy(h.w, at.w, sizeof h.w);
    memcpy(h.place, k->plan.place, sizeof h.place);
  }
  const int32_t *x = at.x;
  TW_Y *y = at.y;
  for (int32_t set = 0; set < at.sets; set++, x += at.set, y += rows * at.y_row) {
    int32_t unit = 0;
    for (; unit + 2 < at.units; unit += TW_UNITS) some_units(way, rows, kept, TW_UNITS, k, &at, &s, &h, unit, x, y);
    if (unit < at.units) some_units(way, rows, kept, 2, k, &at, &s, &h, unit, x, y);
  }
}

#define TW_ALONG(NAME, WAY)                                                                       \
  TW_APART void NAME(const work *k, const walk *at, int32_t rows) {                               \
    if (rows == 2 && k->plan.fours == TW_KEPT) along(WAY, 2, 1, k, at);                           \
    else if (rows == 2) along(WAY, 2, 0, k, at);                                                  \
    else if (k->plan.fours == TW_KEPT) along(WAY, 1, 1, k, at);                                   \
    else along(WAY, 1, 0, k, at);                                                                 \
  }

TW_ALONG(any_way, TW_ANY_WAY)
#ifdef TW_REQUANTS_IN_VECTORS
TW_ALONG(near_way, TW_NEAR_WAY)
#if TW_HAS_DOUBLE_WAYS
TW_ALONG(near_double_way, TW_NEAR_DOUBLE_WAY)
TW_ALONG(near_double_up_way, TW_NEAR_DOUBLE_UP_WAY)
TW_ALONG(float_way, TW_FLOAT_WAY)
#endif
#endif

static void go_along(const work *k, const walk *at, int32_t rows) {
#ifdef TW_REQUANTS_IN_VECTORS
  if (sizeof(TW_Y) == 1 && tw_is_scaled(k->way, &k->p->requant, k->add)) {
    if (k->way == TW_NEAR_WAY) near_way(k, at, rows);
#if TW_HAS_DOUBLE_WAYS
    else if (k->way == TW_NEAR_DOUBLE_WAY) near_double_way(k, at, rows);
    else if (k->way == TW_NEAR_DOUBLE_UP_WAY) near_double_up_way(k, at, rows);
    else float_way(k, at, rows);
#endif
    return;
  }
#endif
  any_way(k, at, rows);
}

/* ---- all of it ---- */

/* A vector of some channels of each pixel, or of all channels of several. */
static walk walk_of(const work *k, const group *g, int32_t vector, some_rows of, TW_Y *y) {
  const tw_lanes_plan *const plan = &k->plan;
  const int64_t y_row = (int64_t)k->p->out_w * plan->channels;
  const int8_t *const w = k->w + (int64_t)vector * plan->fours * TW_VECTOR_BYTES;
  const int is_repeated = plan->channels < TW_LANES;
  const int32_t lane = is_repeated ? vector * TW_LANES : tw_min(vector * TW_LANES, plan->channels - TW_LANES);
  walk made = {.x = k->fours + lane - (is_repeated ? 0 : g->first), .w = w, .start = start_of(k, w, vector), .vector = vector};
  made.step = is_repeated ? plan->vectors * TW_LANES : g->channels;
  made.set = tw_lanes_of_set(k->p, plan, g->channels);
  made.sets = of.sets;
  made.y = y + of.row * y_row + lane;
  made.y_step = is_repeated ? made.step : plan->channels;
  made.y_row = y_row;
  made.bytes = tw_max(0, y_row - lane);
  made.units = (int32_t)(is_repeated ? (made.bytes + made.step - 1) / made.step : k->p->out_w);
  return made;
}

static void one_group(work *k, const group *g, const int8_t *x, const int8_t *zeros, some_rows of, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const int32_t band = k->plan.slots * p->stride_w * g->channels;
  int32_t *to = k->fours;
  for (int32_t set = 0; set < of.sets; set++) {
    const int32_t top = (of.row + set * of.rows) * p->stride_h - p->pad_top;
    for (int32_t i = 0; i < k->plan.bands; i++, to += band) put_rows(k, g, x, zeros, top + 4 * i * p->dilation_h, to);
  }
  tw_place_taps(p, &k->plan, g->channels);
  for (int32_t v = 0; v < g->vectors; v++) {
    const walk at = walk_of(k, g, g->vector + v, of, y);
    go_along(k, &at, of.rows);
  }
}

static group group_at(const tw_lanes_plan *plan, int32_t vector) {
  group made = {vector, tw_min(plan->at_a_time, plan->vectors - vector), 0, plan->channels};
  if (plan->channels < TW_LANES || made.vectors == plan->vectors) return made;
  made.first = tw_min(vector * TW_LANES, plan->channels - TW_LANES);
  made.channels = tw_min((vector + made.vectors) * TW_LANES, plan->channels) - made.first;
  return made;
}

void TW_NAME(const tw_conv_dot_params *params, const TW_X *x, const int8_t *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = &params->conv;
  work k = {p, (tw_way)params->way, tw_lanes_plan_of(p, TW_LANES, scratch), NULL, w, b, mul, add};
  int8_t *const zeros = (int8_t *)(k.plan.place + k.plan.fours);
  k.fours = (int32_t *)(zeros + tw_lanes_zeros(p));
  memset(zeros, p->x_zero, (size_t)tw_lanes_zeros(p));
  for (int32_t image = 0; image < p->batch; image++) {
    const int8_t *const from = (const int8_t *)x + (int64_t)image * p->in_h * p->in_w * k.plan.channels;
    TW_Y *const to = y + (int64_t)image * p->out_h * p->out_w * k.plan.channels;
    for (int32_t vector = 0; vector < k.plan.vectors; vector += k.plan.at_a_time) {
      const group g = group_at(&k.plan, vector);
      for (some_rows of = {0, 0, 0}; of.row < p->out_h; of.row += of.rows * of.sets) {
        of.rows = tw_min(k.plan.rows, p->out_h - of.row);
        of.sets = tw_min(k.plan.sets, (p->out_h - of.row) / of.rows);
        one_group(&k, &g, from, zeros, of, to);
      }
    }
  }
}
