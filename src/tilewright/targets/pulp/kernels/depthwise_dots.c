/* Convolution of 8-bit integers with the channels last, where each group has one channel and one filter; int32 totals,
 * optionally requantised; all cores together.
 *
 * A piece of work is some rows of four neighbouring channels. Their input is first taken apart into four planes, padding
 * included; neighbours of a row are then taps of the same filter, one dot product for four of them. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_dots
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_X_SIGNED ((TW_X)-1 < 0)
#define TW_W_SIGNED ((TW_W)-1 < 0)
#define TW_Y_SIGNED ((TW_Y)-1 < 0)

#include "bytes4.h"
#include "cluster.h"
#include "columns.h"
#include "conv.h"
#include "dot.h"
#include "planes.h"

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
  const int is_native = p->requantised && tw_is_native(&p->requant, TW_Y_SIGNED);
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
  return tw_requantise(&p->requant, total, k->mul[channel * p->mul_step], k->add ? k->add[channel * p->add_step] : 0);
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

#if TW_XPULP

#define TW_E_DOT (TW_X_SIGNED ? TW_I_DOT_SS : TW_I_DOT_US)
#define TW_E_FIRST (TW_X_SIGNED ? TW_I_FIRST_SS : TW_I_FIRST_US)

#include "depthwise_down.h"

/* Results of one channel in two nested loops, along its rows and down them or the other way round; the longer loop is
 * the inner one. Offsets are known to the assembly. */
typedef struct {
  int32_t count;  /* turns of the inner loop */
  int32_t down;   /* bytes of the plane from behind an inner loop to the next */
  int32_t y_down; /* the same of y */
  int32_t step;   /* bytes of the plane from turn to turn */
  int32_t y_next; /* from the last result of a turn to the next turn */
  int32_t left;   /* turns of the outer loop */
} walk;

static walk walk_of(const work *k, int32_t across, int32_t rows, int32_t at_once) {
  const int32_t width = k->p->out_w, groups = k->p->groups, down = k->p->stride_h * k->planes.pitch;
  const int32_t step = at_once * k->p->stride_w;
  walk w;
  if (rows < across) {
    w.count = across, w.left = rows, w.step = step, w.y_next = groups;
    w.down = down - across * step, w.y_down = (width - across * at_once) * groups;
  } else {
    w.count = rows, w.left = across, w.step = down, w.y_next = (width - at_once + 1) * groups;
    w.down = step - rows * down, w.y_down = (at_once - rows * width) * groups;
  }
  return w;
}

/* %0 to %2: rows of the plane; %3 to %5: their words; %6: y; %7 and %8: totals, first the turns of both loops. A product
 * is the total plus `less` times itself, which is one cycle; to multiply takes two. */
#define TW_A_SMALL_PRODUCT(t) TW_A_R(TW_E_MAC, t, t, "%[mul]")
#define TW_A_NARROW_PRODUCT(t) TW_A_R(TW_E_CLIP, t, t, "%[bound]") TW_A_SMALL_PRODUCT(t)
#define TW_A_HIGH_PRODUCT(t) "mulh " t ", " t ", %[mul]\n"
#define TW_A_FINISH_BYTE(t, step) \
  TW_A_R(TW_E_ADDN, t, "%[add]", "%[shift]") TW_A_CLIP_BYTE(t, "%[high]") TW_A_SB_STEP(t, "%6", step)
#define TW_A_TOTAL(t, w0, w1, w2) \
  TW_A_MV(t, "%[init]") TW_A_DOT(t, "%3", w0) TW_A_DOT(t, "%4", w1) TW_A_DOT(t, "%5", w2)
#define TW_A_SMALL_TOTAL(t, w0, w1, w2) TW_A_DOT_FIRST(t, "%3", w0) TW_A_DOT(t, "%4", w1) TW_A_DOT(t, "%5", w2)
#define TW_A_WORDS \
  TW_A_LW_STEP("%3", "%0", "%[step]") TW_A_LW_STEP("%4", "%1", "%[step]") TW_A_LW_STEP("%5", "%2", "%[step]")
#define TW_A_TWO(TOTAL, PRODUCT)                                                                                \
  TW_A_WORDS TOTAL("%7", "%[w0]", "%[w1]", "%[w2]") TOTAL("%8", "%[v0]", "%[v1]", "%[v2]") PRODUCT("%7") PRODUCT("%8") \
  TW_A_FINISH_BYTE("%7", "%[y_step]") TW_A_FINISH_BYTE("%8", "%[y_next]")
#define TW_A_ONE(TOTAL, PRODUCT) \
  TW_A_WORDS TOTAL("%7", "%[w0]", "%[w1]", "%[w2]") PRODUCT("%7") TW_A_FINISH_BYTE("%7", "%[y_next]")
#define TW_A_WALK(LINES, instructions)                                                                         \
  TW_A_BEGIN TW_A_OUTER_LOOP("%8", (instructions + 8)) TW_A_LOOP("%7", instructions) LINES                     \
  "lw %7, 4(%[walk])\nlw %8, 8(%[walk])\nadd %0, %0, %7\nadd %1, %1, %7\nadd %2, %2, %7\nlw %7, 0(%[walk])\n"  \
  "add %6, %6, %8\n" TW_A_END
#define TW_WALK(LINES, instructions, ...)                                                                          \
  __asm__ volatile(TW_A_WALK(LINES, instructions)                                                                  \
                   : "+r"(row0), "+r"(row1), "+r"(row2), "=&r"(word0), "=&r"(word1), "=&r"(word2), "+r"(y),        \
                     "+r"(total0), "+r"(total1)                                                                    \
                   : [walk] "r"(s), [step] "r"(s->step), [y_next] "r"(s->y_next), [w0] "r"(w0), [w1] "r"(w1),       \
                     [w2] "r"(w2), [add] "r"(c->add[f]), [shift] "r"(c->shift), [high] "r"(c->high),               \
                     [dot] "i"(TW_E_DOT), [first] "i"(TW_E_FIRST), [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU), \
                     __VA_ARGS__                                                                                   \
                   : "memory")
#define TW_SHIFTED_TAPS [y_step] "r"(k->p->groups), [v0] "r"(w0 << 8), [v1] "r"(w1 << 8), [v2] "r"(w2 << 8)
#define TW_BOUNDED [init] "r"(c->init[f]), [bound] "r"(c->bound), [mul] "r"(c->mul[f] - 1)
#define TW_ROWS_BEGIN                                                                                        \
  const tw_columns *const c = &k->columns;                                                                   \
  const uint8_t *row1 = row0 + k->p->dilation_h * k->planes.pitch, *row2 = row1 + k->p->dilation_h * k->planes.pitch;        \
  const uint32_t *const taps = k->taps + 3 * f;                                                              \
  const uint32_t w0 = taps[0], w1 = taps[1], w2 = taps[2];                                                   \
  int32_t word0, word1, word2, total0 = s->count, total1 = s->left;

/* Filters with three rows of at most three taps, without stride: a word has the taps of two results. */
static __attribute__((noinline)) void rows_of_two(const work *k, const uint8_t *row0, int f, const walk *s, TW_Y *y) {
  TW_ROWS_BEGIN
  if (c->mode == TW_SMALL) {
    TW_WALK(TW_A_TWO(TW_A_SMALL_TOTAL, TW_A_SMALL_PRODUCT), 17, TW_SHIFTED_TAPS, [mul] "r"(c->mul[f] - 1));
  } else if (c->mode == TW_HIGH) {
    TW_WALK(TW_A_TWO(TW_A_TOTAL, TW_A_HIGH_PRODUCT), 19, TW_SHIFTED_TAPS, [init] "r"(c->init[f]), [mul] "r"(c->mul[f]));
  } else {
    TW_WALK(TW_A_TWO(TW_A_TOTAL, TW_A_NARROW_PRODUCT), 21, TW_SHIFTED_TAPS, TW_BOUNDED);
  }
}

/* The same for rows of at most four taps, with any stride: a word for each result. */
static __attribute__((noinline)) void rows_of_one(const work *k, const uint8_t *row0, int f, const walk *s, TW_Y *y) {
  TW_ROWS_BEGIN
  if (c->mode == TW_SMALL) {
    TW_WALK(TW_A_ONE(TW_A_SMALL_TOTAL, TW_A_SMALL_PRODUCT), 10, [mul] "r"(c->mul[f] - 1));
  } else if (c->mode == TW_HIGH) {
    TW_WALK(TW_A_ONE(TW_A_TOTAL, TW_A_HIGH_PRODUCT), 11, [init] "r"(c->init[f]), [mul] "r"(c->mul[f]));
  } else {
    TW_WALK(TW_A_ONE(TW_A_TOTAL, TW_A_NARROW_PRODUCT), 12, TW_BOUNDED);
  }
}

static int has_fast_rows(const work *k) {
  const int fits = k->p->kernel_h == 3 && k->words == 1 && TW_W_SIGNED && sizeof(TW_Y) == 1;
  return fits && k->columns.mode <= TW_HIGH;
}

static int walks_down(const work *k, int32_t rows) {
  const tw_conv_params *const p = k->p;
  const int is_plain = p->stride_h == 1 && p->stride_w == 1 && p->dilation_h == 1;
  return is_plain && rows >= TW_LEAST_DOWN && k->columns.mode == TW_SMALL;
}

/* One loop after the other: the code of both is more than a core's own instruction cache. */
static void fast_columns(const work *k, int32_t rows, int32_t pairs, int32_t rest, TW_Y *y) {
  const int32_t pitch = k->planes.pitch, plane = k->planes.plane, width = k->p->out_w, groups = k->p->groups;
  if (pairs > 0) {
    const tw_down twos = tw_down_of(pitch, pairs, rows, 2, width, groups);
    for (int f = 0; f < 4; f++) tw_down_two(&k->columns, k->taps + 3 * f, f, k->at + f * plane, &twos, y + f);
  }
  if (rest > 0) {
    const tw_down ones = tw_down_of(pitch, rest, rows, 1, width, groups);
    const uint8_t *const from = k->at + 2 * pairs;
    y += 2 * pairs * groups;
    for (int f = 0; f < 4; f++) tw_down_one(&k->columns, k->taps + 3 * f, f, from + f * plane, &ones, y + f);
  }
}

/* Rows of four channels, in pairs of results as far as that goes. */
static void fast_rows(const work *k, int32_t rows, TW_Y *y) {
  const int32_t width = k->p->out_w;
  const int32_t pairs = k->p->stride_w == 1 && k->p->kernel_w <= 3 ? width >> 1 : 0, rest = width - 2 * pairs;
  if (walks_down(k, rows)) {
    fast_columns(k, rows, pairs, rest, y);
    return;
  }
  const walk twos = walk_of(k, pairs, rows, 2), ones = walk_of(k, rest, rows, 1);
  const uint8_t *from = k->at;
  for (int f = 0; f < 4; f++, from += k->planes.plane, y++) {
    if (pairs > 0) rows_of_two(k, from, f, &twos, y);
    if (rest > 0) rows_of_one(k, from + 2 * pairs, f, &ones, y + 2 * pairs * k->p->groups);
  }
}

#else

static int has_fast_rows(const work *k) { return k->p == 0; }
static void fast_rows(const work *k, int32_t rows, TW_Y *y) {
  (void)k, (void)rows, (void)y;
}

#endif

/* Output rows from `out_y` to `end` of four channels, whose planes are loaded. */
static void channels(work *k, int32_t image, int32_t channel, int32_t out_y, int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t pitch = p->out_w * p->groups;
  set_channels(k, channel);
  TW_Y *y = k->y + (image * p->out_h + out_y) * pitch + channel;
  if (has_fast_rows(k)) {
    fast_rows(k, end - out_y, y);
    return;
  }
  for (int f = 0; f < 4; f++, y++) {
    const uint8_t *from = k->at + f * k->planes.plane;
    TW_Y *to = y;
    for (int32_t row = out_y; row < end; row++, from += p->stride_h * k->planes.pitch, to += pitch) {
      any_row(k, from, f, channel + f, to);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  work k;
  k.p = p, k.x = x, k.w = w, k.b = b, k.mul = mul, k.add = add, k.y = y;
  k.words = (p->kernel_w + 3) >> 2;
  const int32_t read = (p->out_w - 1) * p->stride_w + 4 * k.words;
  tw_planes *const planes = &k.planes;
  planes->step = p->groups, planes->width = p->in_w, planes->across = p->in_w * p->groups;
  planes->pitch = (tw_max(p->pad_left + p->in_w, read) + 3) & ~3;
  planes->plane = planes->pitch * ((p->chunk - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1);
  const int32_t taps = 16 * k.words * p->kernel_h;
  k.at = (uint8_t *)scratch + tw_core() * (4 * planes->plane + taps);
  k.taps = (uint32_t *)(void *)(k.at + 4 * planes->plane);
  k.first = p->in_h, k.end = 0;
  const int32_t quads = (p->groups + 3) >> 2, strips = (p->out_h + p->chunk - 1) / p->chunk;
  const tw_share share = tw_share_of(p->batch * strips * quads);
  if (share.first >= share.end) return;
  tw_fill_run(k.at, p->x_zero, 4 * planes->plane);
  int32_t strip = (int32_t)((uint32_t)share.first / (uint32_t)quads), quad = share.first - strip * quads, image = 0;
  for (; strip >= strips; strip -= strips) image++;
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t channel = tw_min(4 * quad, p->groups - 4), first = strip * p->chunk;
    const int32_t end = tw_min(first + p->chunk, p->out_h);
    load_planes(&k, image, channel, first, end);
    channels(&k, image, channel, first, end);
    if (++quad < quads) continue;
    quad = 0;
    if (++strip < strips) continue;
    strip = 0;
    image++;
  }
}
