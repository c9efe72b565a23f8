/* Convolution of 8-bit integers with the channels last, where each group has one channel and one filter; int32 totals,
 * optionally requantised; all cores together. Quick for filters of three rows of at most four taps. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_dots
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#include "depthwise_channels.h"

#if TW_XPULP

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

/* %0 to %2: rows of the plane; %3 to %5: their words; %6: y; %7 and %8: totals, first the turns of both loops. */
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

#define TW_MORE_TAPS 0
#include "depthwise_pieces.h"
