/* Convolution of 8-bit integers with the channels last, where each group has one channel and one filter; int32 totals,
 * requantised; all cores together. Quick for filters of any height with at most eight taps in a row. */
#ifndef TW_NAME
#define TW_NAME tw_depthwise_windows
#define TW_X int8_t
#define TW_W int8_t
#define TW_Y int8_t
#endif

#define TW_Y_IS_WIDE (sizeof(TW_Y) == 2)
#include "depthwise_channels.h"

#if TW_XPULP

/* What totals of one channel are finished with. */
#define TW_A_FINISH_BYTE(t, step) \
  TW_A_R(TW_E_ADDN, t, "%[add]", "%[shift]") TW_A_CLIP_BYTE(t, "%[high]") TW_A_SB_STEP(t, "%[y]", step)

/* A turn begins at the window's first row and the first taps; behind it comes the next window. */
#define TW_A_WINDOWS(BEGIN, begin, ROW, row, END, end)                                                    \
  TW_A_BEGIN TW_A_OUTER_LOOP("%[count]", (2 + begin + 1 + row + end + 1)) TW_A_MV("%[at]", "%[from]")      \
  TW_A_MV("%[taps]", "%[filter]") BEGIN TW_A_LOOP("%[rows]", row) ROW END "add %[from], %[from], %[step]\n" TW_A_END

/* One result: a word of the row, or two. */
#define TW_A_BEGIN_ONE TW_A_MV("%[t0]", "%[init]")
#define TW_A_ROW_OF_FOUR TW_A_LW_STEP("%[a]", "%[at]", "%[down]") TW_A_LW("%[w0]", "%[taps]", "4") TW_A_DOT("%[t0]", "%[a]", "%[w0]")
#define TW_A_ROW_OF_EIGHT                                                                                  \
  TW_A_LW("%[a]", "%[at]", "4") TW_A_LW("%[w0]", "%[taps]", "4") TW_A_LW_STEP("%[b]", "%[at]", "%[down]")     \
  TW_A_LW("%[w1]", "%[taps]", "4") TW_A_DOT("%[t0]", "%[a]", "%[w0]") TW_A_DOT("%[t0]", "%[b]", "%[w1]")
#define TW_A_END_ONE(PRODUCT) PRODUCT("%[t0]") TW_A_FINISH_BYTE("%[t0]", "%[y_next]")

/* Two results that share eight bytes of a row of at most seven taps: behind the taps in two words stand the same taps one
 * byte later. */
#define TW_A_BEGIN_TWO TW_A_BEGIN_ONE TW_A_MV("%[t1]", "%[init]")
#define TW_A_ROW_OF_TWO                                                                                    \
  TW_A_LW("%[a]", "%[at]", "4") TW_A_LW_STEP("%[b]", "%[at]", "%[down]") TW_A_LW("%[w0]", "%[taps]", "4")     \
  TW_A_LW("%[w1]", "%[taps]", "4") TW_A_DOT("%[t0]", "%[a]", "%[w0]") TW_A_LW("%[w0]", "%[taps]", "4")        \
  TW_A_DOT("%[t0]", "%[b]", "%[w1]") TW_A_LW("%[w1]", "%[taps]", "4") TW_A_DOT("%[t1]", "%[a]", "%[w0]")      \
  TW_A_DOT("%[t1]", "%[b]", "%[w1]")
#define TW_A_END_TWO(PRODUCT)                                                                              \
  PRODUCT("%[t0]") PRODUCT("%[t1]") TW_A_FINISH_BYTE("%[t0]", "%[y_next]") TW_A_FINISH_BYTE("%[t1]", "%[y_next]")

#define TW_TURNS(LINES, ...)                                                                               \
  __asm__ volatile(LINES                                                                                   \
                   : [from] "+r"(from), [y] "+r"(y), [at] "=&r"(at), [taps] "=&r"(taps), [a] "=&r"(a), [b] "=&r"(b), \
                     [w0] "=&r"(w0), [w1] "=&r"(w1), [t0] "=&r"(t0), [t1] "=&r"(t1)                        \
                   : [count] "r"(count), [rows] "r"(k->p->kernel_h), [filter] "r"(filter), [step] "r"(step), \
                     [down] "r"(down), [y_next] "r"(k->p->groups), [init] "r"(c->init[f]), [add] "r"(c->add[f]), \
                     [shift] "r"(c->shift), [high] "r"(c->high), [dot] "i"(TW_E_DOT),                       \
                     [clip] "i"(TW_Y_SIGNED ? TW_I_CLIP : TW_I_CLIPU), __VA_ARGS__                          \
                   : "memory")

/* `count` turns along a row of channel f of four; `product` is how many instructions the product takes in each mode. */
#define TW_WALK_WINDOWS(BEGIN, begin, ROW, row, END, results)                                                             \
  const tw_columns *const c = &k->columns;                                                                             \
  const uint8_t *at;                                                                                                   \
  const uint32_t *taps;                                                                                                \
  uint32_t a, b, w0, w1, t0, t1;                                                                                       \
  if (c->mode == TW_SMALL) {                                                                                           \
    TW_TURNS(TW_A_WINDOWS(BEGIN, begin, ROW, row, END(TW_A_SMALL_PRODUCT), 4 * results), [mul] "r"(c->mul[f] - 1));     \
  } else if (c->mode == TW_HIGH) {                                                                                     \
    TW_TURNS(TW_A_WINDOWS(BEGIN, begin, ROW, row, END(TW_A_HIGH_PRODUCT), 4 * results), [mul] "r"(c->mul[f]));          \
  } else {                                                                                                             \
    TW_TURNS(TW_A_WINDOWS(BEGIN, begin, ROW, row, END(TW_A_NARROW_PRODUCT), 5 * results), [mul] "r"(c->mul[f] - 1),     \
             [bound] "r"(c->bound));                                                                                   \
  }

static __attribute__((noinline)) void row_of_fours(const work *k, const uint8_t *from, const uint32_t *filter, int f,
                                                   int32_t count, TW_Y *y) {
  const int32_t step = k->p->stride_w, down = k->p->dilation_h * k->planes.pitch;
  TW_WALK_WINDOWS(TW_A_BEGIN_ONE, 1, TW_A_ROW_OF_FOUR, 3, TW_A_END_ONE, 1)
}

static __attribute__((noinline)) void row_of_eights(const work *k, const uint8_t *from, const uint32_t *filter, int f,
                                                    int32_t count, TW_Y *y) {
  const int32_t step = k->p->stride_w, down = k->p->dilation_h * k->planes.pitch - 4;
  TW_WALK_WINDOWS(TW_A_BEGIN_ONE, 1, TW_A_ROW_OF_EIGHT, 6, TW_A_END_ONE, 1)
}

static __attribute__((noinline)) void row_of_pairs(const work *k, const uint8_t *from, const uint32_t *filter, int f,
                                                   int32_t count, TW_Y *y) {
  const int32_t step = 2, down = k->p->dilation_h * k->planes.pitch - 4;
  TW_WALK_WINDOWS(TW_A_BEGIN_TWO, 2, TW_A_ROW_OF_TWO, 10, TW_A_END_TWO, 2)
}

/* A filter's rows of two words, each with the same taps one byte later behind it. */
static void pair_taps(const work *k, const uint32_t *taps, uint32_t *to) {
  for (int32_t r = 0; r < k->p->kernel_h; r++, taps += 2, to += 4) {
    to[0] = taps[0], to[1] = taps[1];
    to[2] = taps[0] << 8, to[3] = taps[1] << 8 | taps[0] >> 24;
  }
}

/* Totals of a window, or of two neighbours, for results of 16 bits, which C finishes. */
#define TW_WINDOW(BEGIN, ROW, row)                                                                                    \
  const uint8_t *at = from;                                                                                           \
  const uint32_t *taps = filter;                                                                                      \
  uint32_t a, b, w0, w1;                                                                                              \
  __asm__ volatile(TW_A_BEGIN BEGIN TW_A_LOOP("%[rows]", row) ROW TW_A_END                                            \
                   : [at] "+r"(at), [taps] "+r"(taps), [a] "=&r"(a), [b] "=&r"(b), [w0] "=&r"(w0), [w1] "=&r"(w1),     \
                     [t0] "=&r"(total[0]), [t1] "=&r"(total[1])                                                       \
                   : [rows] "r"(k->p->kernel_h), [down] "r"(down), [init] "r"(init), [dot] "i"(TW_E_DOT)              \
                   : "memory")

static void wide_row(const work *k, const uint8_t *from, const uint32_t *filter, int f, int32_t count, TW_Y *y) {
  const int32_t down = k->p->dilation_h * k->planes.pitch - (k->words == 2 ? 4 : 0), init = k->columns.init[f];
  int32_t total[2];
  for (; count > 0; count--, from += k->p->stride_w, y += k->p->groups) {
    if (k->words == 1) {
      TW_WINDOW(TW_A_BEGIN_ONE, TW_A_ROW_OF_FOUR, 3);
    } else {
      TW_WINDOW(TW_A_BEGIN_ONE, TW_A_ROW_OF_EIGHT, 6);
    }
    *y = (TW_Y)tw_columns_finish(&k->columns, total[0], f, 1);
  }
}

static void wide_pairs(const work *k, const uint8_t *from, const uint32_t *filter, int f, int32_t count, TW_Y *y) {
  const int32_t down = k->p->dilation_h * k->planes.pitch - 4, init = k->columns.init[f];
  int32_t total[2];
  for (; count > 0; count--, from += 2) {
    TW_WINDOW(TW_A_BEGIN_TWO, TW_A_ROW_OF_TWO, 10);
    for (int i = 0; i < 2; i++, y += k->p->groups) *y = (TW_Y)tw_columns_finish(&k->columns, total[i], f, 1);
  }
}

static int has_fast_rows(const work *k) {
  const int has_mode = TW_Y_IS_WIDE ? k->columns.mode == TW_WIDE : k->columns.mode <= TW_HIGH;
  return k->words <= 2 && TW_W_SIGNED && sizeof(TW_Y) <= 2 && has_mode;
}

static void pairs_of_row(const work *k, const uint8_t *from, const uint32_t *filter, int f, int32_t count, TW_Y *y) {
  if (TW_Y_IS_WIDE) {
    wide_pairs(k, from, filter, f, count, y);
  } else {
    row_of_pairs(k, from, filter, f, count, y);
  }
}

static void rest_of_row(const work *k, const uint8_t *from, const uint32_t *filter, int f, int32_t count, TW_Y *y) {
  if (TW_Y_IS_WIDE) {
    wide_row(k, from, filter, f, count, y);
  } else if (k->words == 1) {
    row_of_fours(k, from, filter, f, count, y);
  } else {
    row_of_eights(k, from, filter, f, count, y);
  }
}

/* One channel of four. */
static void fast_channel(const work *k, int f, int32_t rows, TW_Y *y) {
  const tw_conv_params *const p = k->p;
  const uint32_t *const filter = k->taps + f * k->words * p->kernel_h;
  uint32_t *const twice = k->taps + 4 * k->words * p->kernel_h;
  const int32_t pairs = k->words == 2 && p->stride_w == 1 && p->kernel_w < 8 ? p->out_w >> 1 : 0;
  const int32_t rest = p->out_w - 2 * pairs;
  const uint8_t *from = k->at + f * k->planes.plane;
  if (pairs > 0) pair_taps(k, filter, twice);
  for (; rows > 0; rows--, from += p->stride_h * k->planes.pitch, y += p->out_w * p->groups) {
    if (pairs > 0) pairs_of_row(k, from, twice, f, pairs, y);
    if (rest > 0) rest_of_row(k, from + 2 * pairs, filter, f, rest, y + 2 * pairs * p->groups);
  }
}

static void fast_rows(const work *k, int32_t rows, TW_Y *y) {
  for (int f = 0; f < 4; f++) fast_channel(k, f, rows, y + f);
}

#else

static int has_fast_rows(const work *k) { return k->p == 0; }
static void fast_rows(const work *k, int32_t rows, TW_Y *y) {
  (void)k, (void)rows, (void)y;
}

#endif

#define TW_MORE_TAPS 16 /* bytes for each row of one filter: pair_taps */
#include "depthwise_pieces.h"
