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
#include "pack8.h"

#define TW_LARGEST_PRODUCT ((TW_X_SIGNED ? 128u : 255u) * (TW_W_SIGNED ? 128u : 255u))

typedef struct {
  const tw_conv_params *p;
  const TW_X *x;
  const TW_W *w;
  const int32_t *b, *mul, *add;
  TW_Y *y;
  int32_t words; /* of a filter's row */
  int32_t left;  /* where the image begins in a plane's row: at a word, with room for the padding */
  int32_t pitch; /* from row to row of a plane */
  int32_t plane; /* from plane to plane */
  uint8_t *planes;
  uint32_t *taps; /* of the current channel: kernel_h rows of words */
  tw_columns columns;
} work;

/* ---- planes ---- */

/* The image's part of a row; around it the planes are filled once and for all. */
static void fill_row(const work *k, uint8_t *row) {
  for (int i = 0; i < 4; i++) tw_fill_run(row + i * k->plane + k->left, k->p->x_zero, k->p->in_w);
}

static inline void load_row(const work *k, const uint8_t *x, uint8_t *row) {
  const int32_t step = k->p->groups, plane = k->plane;
  uint8_t *to = row + k->left;
  int32_t left = k->p->in_w;
  for (; left >= 4; left -= 4, x += 4 * step, to += 4) {
    const uint32_t in[4] = {tw_x_load(x), tw_x_load(x + step), tw_x_load(x + 2 * step), tw_x_load(x + 3 * step)};
    uint32_t out[4];
    tw_transpose_4x4(in, out);
    for (int i = 0; i < 4; i++) tw_x_store(to + i * plane, out[i]);
  }
  for (; left > 0; left--, x += step, to++) {
    for (int i = 0; i < 4; i++) to[i * plane] = x[i];
  }
}

/* The input of the output rows from `out_y` to `end`. */
static __attribute__((noinline)) void load_planes(const work *k, int32_t image, int32_t channel, int32_t out_y,
                                                  int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t rows = (end - out_y - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1;
  int32_t in_y = out_y * p->stride_h - p->pad_top;
  const uint8_t *x = (const uint8_t *)k->x + (image * p->in_h + in_y) * p->in_w * p->groups + channel;
  uint8_t *row = k->planes;
  for (int32_t i = 0; i < rows; i++, in_y++, row += k->pitch, x += p->in_w * p->groups) {
    if (in_y < 0 || in_y >= p->in_h) {
      fill_row(k, row);
    } else {
      load_row(k, x, row);
    }
  }
}

/* ---- filters ---- */

/* The taps of a channel in words, filled up with zeros; returns their sum. */
static int32_t load_taps(const work *k, const TW_W *w) {
  int32_t sum = 0;
  if (k->p->kernel_h == 3 && k->p->kernel_w == 3) {
    /* The last word begins a byte early, where there is nothing behind the last filter. */
    const uint32_t row[3] = {tw_x_load(w) & 0xffffff, tw_x_load(w + 3) & 0xffffff, tw_x_load(w + 5) >> 8};
    for (int i = 0; i < 3; i++) {
      k->taps[i] = row[i];
      sum = tw_dot(sum, row[i], 0x01010101u, TW_W_SIGNED, 1);
    }
    return sum;
  }
  uint32_t *to = k->taps;
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

static TW_COMPACT void set_channel(work *k, int32_t channel) {
  const tw_conv_params *const p = k->p;
  const int32_t taps = p->kernel_h * p->kernel_w, sum = load_taps(k, k->w + channel * taps);
  const int32_t init = tw_conv_bias(p, k->b, channel) - p->x_zero * sum;
  k->columns.init[0] = init;
  tw_columns_plain(&k->columns); /* its bound clips nothing, unless the mode will be to clip */
  if (!p->requantised) return;
  const uint32_t limit = TW_LARGEST_PRODUCT * (uint32_t)taps + tw_magnitude(init);
  tw_columns_choose(&k->columns, &p->requant, k->mul + channel * p->mul_step, 0,
                    k->add ? k->add + channel * p->add_step : 0, 0, limit, TW_Y_SIGNED);
}

/* ---- rows of results ---- */

static int32_t finish(const work *k, int32_t total, int32_t channel) {
  const tw_conv_params *const p = k->p;
  if (k->columns.mode != TW_EXACT) return tw_columns_finish(&k->columns, total, 0, TW_Y_SIGNED);
  return tw_requantise(&p->requant, total, k->mul[channel * p->mul_step], k->add ? k->add[channel * p->add_step] : 0);
}

/* Any filter. */
static void any_row(const work *k, const uint8_t *from, int32_t channel, int32_t count, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  for (int32_t i = 0; i < count; i++, from += p->stride_w, y += p->groups) {
    int32_t total = k->columns.init[0];
    const uint32_t *taps = k->taps;
    const uint8_t *row = from;
    for (int32_t r = 0; r < p->kernel_h; r++, row += p->dilation_h * k->pitch) {
      for (int32_t s = 0; s < 4 * k->words; s += 4) {
        total = tw_dot(total, tw_x_load(row + s), *taps++, TW_X_SIGNED, TW_W_SIGNED);
      }
    }
    *y = (TW_Y)finish(k, total, channel);
  }
}

#if TW_XPULP

#define TW_E_DOT (TW_X_SIGNED ? TW_I_DOT_SS : TW_I_DOT_US)
#define TW_E_FIRST (TW_X_SIGNED ? TW_I_FIRST_SS : TW_I_FIRST_US)
#define TW_A_MV(d, a) "addi " d ", " a ", 0\n"
#define TW_A_SB_STEP(d, base, step) ".insn r 0x2b, " TW_E_SB_STEP ", " step ", " base ", " d "\n"
#if defined(TW_COREV)
#define TW_E_SB_STEP "3, 0x10"
#else
#define TW_E_SB_STEP "4, 0x00"
#endif

/* %0 to %2: rows of the plane; %3 to %5: their words; %6: y; %7: rows that are left; %8 and %9: totals. */
#define TW_A_NARROW_PRODUCT(t) TW_A_R(TW_E_CLIP, t, t, "%[bound]") "mul " t ", " t ", %[mul]\n"
#define TW_A_HIGH_PRODUCT(t) "mulh " t ", " t ", %[mul]\n"
#define TW_A_FINISH_BYTE(t) \
  TW_A_R(TW_E_ADDN, t, "%[add]", "%[shift]") TW_A_CLIP_BYTE(t, "%[high]") TW_A_SB_STEP(t, "%6", "%[y_step]")
#define TW_A_TOTAL(t, w0, w1, w2) TW_A_DOT(t, "%3", w0) TW_A_DOT(t, "%4", w1) TW_A_DOT(t, "%5", w2)
#define TW_A_TWO(PRODUCT)                                                                                      \
  TW_A_LW("%3", "%0", "2") TW_A_LW("%4", "%1", "2") TW_A_LW("%5", "%2", "2")                                   \
  TW_A_MV("%8", "%[init]") TW_A_MV("%9", "%[init]") TW_A_TOTAL("%8", "%[w0]", "%[w1]", "%[w2]")                \
  TW_A_TOTAL("%9", "%[v0]", "%[v1]", "%[v2]") PRODUCT("%8") PRODUCT("%9") TW_A_FINISH_BYTE("%8") TW_A_FINISH_BYTE("%9")
/* The same where neither total nor product overflows: the start is part of the summand. */
#define TW_A_SMALL_TOTAL(t, w0, w1, w2) TW_A_DOT_FIRST(t, "%3", w0) TW_A_DOT(t, "%4", w1) TW_A_DOT(t, "%5", w2)
#define TW_A_TWO_SMALL                                                                                         \
  TW_A_LW("%3", "%0", "2") TW_A_LW("%4", "%1", "2") TW_A_LW("%5", "%2", "2")                                   \
  TW_A_SMALL_TOTAL("%8", "%[w0]", "%[w1]", "%[w2]") TW_A_SMALL_TOTAL("%9", "%[v0]", "%[v1]", "%[v2]")          \
  "mul %8, %8, %[mul]\nmul %9, %9, %[mul]\n" TW_A_FINISH_BYTE("%8") TW_A_FINISH_BYTE("%9")
#define TW_A_ONE(PRODUCT)                                                                                         \
  TW_A_LW_STEP("%3", "%0", "%[step]") TW_A_LW_STEP("%4", "%1", "%[step]") TW_A_LW_STEP("%5", "%2", "%[step]")     \
  TW_A_MV("%8", "%[init]") TW_A_TOTAL("%8", "%[w0]", "%[w1]", "%[w2]") PRODUCT("%8") TW_A_FINISH_BYTE("%8")
#define TW_A_ROWS(LINES, instructions)                                                                         \
  TW_A_BEGIN "1:\n" TW_A_LOOP("%[count]", instructions) LINES                                                  \
  "add %0, %0, %[down]\nadd %1, %1, %[down]\nadd %2, %2, %[down]\nadd %6, %6, %[y_down]\naddi %7, %7, -1\n"    \
  "bnez %7, 1b\n" TW_A_END
#define TW_COMMON_OPERANDS                                                                                         \
  [count] "r"(count), [down] "r"(down), [y_down] "r"(y_down), [init] "r"(c->init[0]), [w0] "r"(w0), [w1] "r"(w1),  \
      [w2] "r"(w2), [bound] "r"(c->bound), [mul] "r"(c->mul[0]), [add] "r"(add), [shift] "r"(c->shift),      \
      [high] "r"(c->high), [y_step] "r"(y_step), [dot] "i"(TW_E_DOT), [first] "i"(TW_E_FIRST),                       \
      [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU)
#define TW_ROWS_OF_TWO(LINES, instructions)                                                                        \
  __asm__ volatile(TW_A_ROWS(LINES, instructions)                                                                  \
                   : "+r"(row0), "+r"(row1), "+r"(row2), "=&r"(word0), "=&r"(word1), "=&r"(word2), "+r"(y),        \
                     "+r"(left), "=&r"(total0), "=&r"(total1)                                                      \
                   : TW_COMMON_OPERANDS, [v0] "r"(w0 << 8), [v1] "r"(w1 << 8), [v2] "r"(w2 << 8)                   \
                   : "memory")
#define TW_ROWS_OF_ONE(PRODUCT, instructions)                                                                      \
  __asm__ volatile(TW_A_ROWS(TW_A_ONE(PRODUCT), instructions)                                                      \
                   : "+r"(row0), "+r"(row1), "+r"(row2), "=&r"(word0), "=&r"(word1), "=&r"(word2), "+r"(y),        \
                     "+r"(left), "=&r"(total0)                                                                     \
                   : TW_COMMON_OPERANDS, [step] "r"(step)                                                          \
                   : "memory")

/* Rows of filters with three rows of at most three taps, without stride: a word has the taps of two results. */
static __attribute__((noinline)) void rows_of_two(const work *k, const uint8_t *row0, int32_t count, int32_t left,
                                                  TW_Y *y) {
  const tw_columns *const c = &k->columns;
  const int32_t y_step = k->p->groups;
  const uint8_t *row1 = row0 + k->p->dilation_h * k->pitch, *row2 = row1 + k->p->dilation_h * k->pitch;
  const uint32_t w0 = k->taps[0], w1 = k->taps[1], w2 = k->taps[2];
  const int32_t down = k->p->stride_h * k->pitch - 2 * count, y_down = (k->p->out_w - 2 * count) * y_step;
  int32_t word0, word1, word2, total0, total1, add = c->add[0];
  if (c->mode == TW_SMALL) {
    add = tw_x_mac(add, c->init[0], c->mul[0]);
    TW_ROWS_OF_TWO(TW_A_TWO_SMALL, 17);
  } else if (c->mode == TW_HIGH) {
    TW_ROWS_OF_TWO(TW_A_TWO(TW_A_HIGH_PRODUCT), 19);
  } else {
    TW_ROWS_OF_TWO(TW_A_TWO(TW_A_NARROW_PRODUCT), 21);
  }
}

/* The same for rows of at most four taps, with any stride: a word for each result. */
static __attribute__((noinline)) void rows_of_one(const work *k, const uint8_t *row0, int32_t count, int32_t left,
                                                  TW_Y *y) {
  const tw_columns *const c = &k->columns;
  const int32_t y_step = k->p->groups, step = k->p->stride_w;
  const uint8_t *row1 = row0 + k->p->dilation_h * k->pitch, *row2 = row1 + k->p->dilation_h * k->pitch;
  const uint32_t w0 = k->taps[0], w1 = k->taps[1], w2 = k->taps[2];
  const int32_t down = k->p->stride_h * k->pitch - step * count, y_down = (k->p->out_w - count) * y_step;
  const int32_t add = c->add[0];
  int32_t word0, word1, word2, total0;
  if (c->mode == TW_HIGH) {
    TW_ROWS_OF_ONE(TW_A_HIGH_PRODUCT, 11);
  } else {
    TW_ROWS_OF_ONE(TW_A_NARROW_PRODUCT, 12);
  }
}

static int has_fast_rows(const work *k) {
  const int fits = k->p->kernel_h == 3 && k->words == 1 && TW_W_SIGNED && sizeof(TW_Y) == 1;
  return fits && k->columns.mode <= TW_HIGH;
}

static void fast_rows(const work *k, const uint8_t *from, int32_t rows, TW_Y *y) {
  const int32_t width = k->p->out_w;
  const int32_t pairs = k->p->stride_w == 1 && k->p->kernel_w <= 3 ? width >> 1 : 0, rest = width - 2 * pairs;
  if (pairs > 0) rows_of_two(k, from, pairs, rows, y);
  if (rest > 0) rows_of_one(k, from + 2 * pairs, rest, rows, y + 2 * pairs * k->p->groups);
}

#else

static int has_fast_rows(const work *k) { return k->p == 0; }
static void fast_rows(const work *k, const uint8_t *from, int32_t rows, TW_Y *y) {
  (void)k, (void)from, (void)rows, (void)y;
}

#endif

/* Output rows from `out_y` to `end` of four channels, whose planes are loaded. */
static void channels(work *k, int32_t image, int32_t channel, int32_t out_y, int32_t end) {
  const tw_conv_params *const p = k->p;
  const int32_t pitch = p->out_w * p->groups;
  for (int i = 0; i < 4; i++, channel++) {
    const uint8_t *from = k->planes + i * k->plane + k->left - p->pad_left;
    TW_Y *to = k->y + (image * p->out_h + out_y) * pitch + channel;
    set_channel(k, channel);
    if (has_fast_rows(k)) {
      fast_rows(k, from, end - out_y, to);
      continue;
    }
    for (int32_t row = out_y; row < end; row++, from += p->stride_h * k->pitch, to += pitch) {
      any_row(k, from, channel, p->out_w, to);
    }
  }
}

void TW_NAME(const tw_conv_params *params, const TW_X *x, const TW_W *w, const int32_t *b, const int32_t *mul,
             const int32_t *add, TW_Y *y, void *scratch) {
  const tw_conv_params *const p = params;
  work k;
  k.p = p, k.x = x, k.w = w, k.b = b, k.mul = mul, k.add = add, k.y = y;
  k.words = (p->kernel_w + 3) >> 2;
  k.left = (p->pad_left + 3) & ~3;
  const int32_t read = k.left - p->pad_left + (p->out_w - 1) * p->stride_w + 4 * k.words;
  k.pitch = (tw_max(k.left + p->in_w, read) + 3) & ~3;
  k.plane = k.pitch * ((p->chunk - 1) * p->stride_h + (p->kernel_h - 1) * p->dilation_h + 1);
  const int32_t taps = 4 * k.words * p->kernel_h;
  k.planes = (uint8_t *)scratch + tw_core() * (4 * k.plane + taps);
  k.taps = (uint32_t *)(void *)(k.planes + 4 * k.plane);
  const int32_t quads = (p->groups + 3) >> 2, strips = (p->out_h + p->chunk - 1) / p->chunk;
  const tw_share share = tw_share_of(p->batch * strips * quads);
  if (share.first >= share.end) return;
  tw_fill_run(k.planes, p->x_zero, 4 * k.plane);
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
