/* Four rows of masked scores of a head of an attention are a quad; some quads at a time go from products to shares. Keys are
 * loaded once for four rows, and each step is done for all quads before the next one: its code then stays in a core's own
 * instruction cache, of 512 bytes. Keys are one word, columns whole words, and products are scaled by clipping (scores.h).
 * Whoever includes this says what masks are: TW_M. */
#ifndef TW_QUAD_GROUP_H
#define TW_QUAD_GROUP_H

#define TW_Y uint8_t /* shares: those of signed bytes are not negative either */

#include "masked_rows.h"

/* Quads that are taken together. */
#define TW_QUADS 6

/* The mask of four rows, in words of columns: those behind `loud` are quiet in all of them, those before `plain` not
 * masked in any. If one word is between, it is masked so. */
typedef struct {
  const TW_M *bytes;
  int32_t plain, loud;
  mask_word words[4];
} quad_mask;

/* Offsets are known to the assembly below. */
typedef struct {
  const int8_t *a, *b;
  int32_t first, searched, others; /* words to score: the first, how many whose largest are looked for, and behind them */
  const quad_mask *mask;
  const uint32_t *v; /* values stored anew */
  int8_t *y;
} quad;

/* What the shares of a row are made of; offsets are known to the assembly below. */
typedef struct {
  const uint32_t *table; /* as in row_values */
  uint32_t factor; /* the largest scores in each lane, then the total, then the reciprocal */
  uint32_t shift;
  int32_t words; /* that count for the total, then that have shares */
} line;

/* What a core has of them. It lies in L1, where the stack may not. */
typedef struct {
  uint8_t *x;   /* scores, then shares; nobody needs the word before a row */
  int32_t step; /* from row to row */
  int32_t count; /* of quads */
  int32_t is_short; /* whether no product of theirs has to be clipped */
  alike_columns quiet;
  quad quads[TW_QUADS];
  line lines[4 * TW_QUADS];
  uint8_t largest[4 * TW_QUADS], of_quiet[4 * TW_QUADS]; /* scores of each row; of quiet columns where they count */
} quad_group;

/* ---- scores ---- */

static inline void set_words_to_score(quad *q, int32_t first, int32_t searched, int32_t others) {
  q->first = first, q->searched = searched, q->others = others;
}

#if TW_XPULP
/* The loop is one string, longer than C99 asks compilers to take. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
#define TW_A_QUAD_BOUND(d) TW_A_R(TW_E_CLIP, d, d, "s0")
#define TW_A_QUAD_SCALE(d) TW_A_R(TW_E_MULSR16, d, d, "a7")
#define TW_A_QUAD_ENTRY(d) TW_A_BYTE_AT(d, "a6", d)
/* One row with four keys: 16 instructions and those of BOUND. */
#define TW_A_QUAD_ROW(BOUND, query, most, step)                                                                       \
  TW_A_R(TW_E_DOTSP4, "t4", "t0", query) TW_A_R(TW_E_DOTSP4, "t5", "t1", query)                                       \
  TW_A_R(TW_E_DOTSP4, "t6", "t2", query) TW_A_R(TW_E_DOTSP4, "ra", "t3", query)                                       \
  BOUND TW_A_FOUR(TW_A_QUAD_SCALE, "t4", "t5", "t6", "ra")                                                            \
  TW_A_FOUR(TW_A_QUAD_ENTRY, "t4", "t5", "t6", "ra") TW_A_PACK4("t4", "t5", "t6", "ra")                               \
  TW_A_R(TW_E_MAXU4, most, most, "t4") TW_A_SW_STEP("t4", "a3", step)

#define TW_DEFINE_SCORE_WORDS(NAME, LINES, BOUND)                                                                     \
  static __attribute__((noinline)) void NAME(const tw_scoring *s, const uint8_t *table, quad_group *g) {              \
    register const quad *q __asm__("a0") = g->quads;                                                                  \
    register line *lines __asm__("a1") = g->lines;                                                                    \
    register const quad *end __asm__("a2") = g->quads + g->count;                                                     \
    register int32_t step __asm__("a4") = g->step;                                                                    \
    register int32_t back __asm__("a5") = 4 - 3 * g->step;                                                            \
    register const uint8_t *entries __asm__("a6") = table;                                                            \
    register int32_t factor __asm__("a7") = s->factor;                                                                \
    register int32_t bound __asm__("s0") = s->bound;                                                                  \
    register uint8_t *x __asm__("s11") = g->x;                                                                        \
    __asm__ volatile(                                                                                                 \
        ".balign 16\n1:\n"                                                                                            \
        "lw t4, 8(a0)\nlw s1, 4(a0)\nlw a3, 0(a0)\nslli t5, t4, 4\nadd s1, s1, t5\nslli t5, t4, 2\n"                  \
        "lw s2, 0(a3)\nlw s3, 4(a3)\nlw s4, 8(a3)\nlw s5, 12(a3)\nadd a3, s11, t5\nlw t4, 12(a0)\nlw s10, 16(a0)\n"   \
        "li s6, 0\nli s7, 0\nli s8, 0\nli s9, 0\n"                                                                   \
        "2:\nbeqz t4, 3f\n"                                                                                           \
        TW_A_BEGIN TW_A_LOOP("t4", LINES) TW_A_LW("t0", "s1", "4") TW_A_LW("t1", "s1", "4") TW_A_LW("t2", "s1", "4")  \
        TW_A_LW("t3", "s1", "4") TW_A_QUAD_ROW(BOUND, "s2", "s6", "a4") TW_A_QUAD_ROW(BOUND, "s3", "s7", "a4")        \
        TW_A_QUAD_ROW(BOUND, "s4", "s8", "a4") TW_A_QUAD_ROW(BOUND, "s5", "s9", "a5") TW_A_END                        \
        "3:\nbltz s10, 4f\n"                                                                                          \
        "sw s6, 4(a1)\nsw s7, 20(a1)\nsw s8, 36(a1)\nsw s9, 52(a1)\nmv t4, s10\nli s10, -1\nj 2b\n"                  \
        "4:\nslli t4, a4, 2\nadd s11, s11, t4\naddi a1, a1, 64\naddi a0, a0, 32\nbne a0, a2, 1b\n"                    \
        : "+r"(q), "+r"(lines), "+r"(x)                                                                               \
        : "r"(end), "r"(step), "r"(back), "r"(entries), "r"(factor), "r"(bound)                                       \
        : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a3", "s1", "s2", "s3", "s4", "s5", "s6", "s7",   \
          "s8", "s9", "s10");                                                                                         \
  }
TW_DEFINE_SCORE_WORDS(score_clipped, 84, TW_A_FOUR(TW_A_QUAD_BOUND, "t4", "t5", "t6", "ra"))
TW_DEFINE_SCORE_WORDS(score_short, 68, )
#else
static void score_clipped(const tw_scoring *s, const uint8_t *table, quad_group *g) {
  for (int32_t i = 0; i < 4 * g->count; i++) {
    const quad *const q = &g->quads[i >> 2];
    const int8_t *const b = q->b + 16 * q->first;
    uint8_t *const x = g->x + i * g->step + 4 * q->first;
    uint32_t most = 0;
    for (int32_t at = 0; at < 4 * (q->searched + q->others); at++) {
      const int32_t product = tw_row_product(q->a + 4 * (i & 3), b + 4 * at, 1);
      x[at] = table[tw_x_mulsr16(tw_x_clip(product, s->bound), s->factor)];
      if (at < 4 * q->searched) most = (uint32_t)tw_x_maxu4((int32_t)most, (int32_t)((uint32_t)x[at] << (8 * (at & 3))));
    }
    g->lines[i].factor = most;
  }
}
#define score_short score_clipped
#endif

/* Rows whose products with any bytes have 16 bits need no clipping. */
#define TW_SHORT_ROW 255
static inline int32_t is_short(const int8_t *a) {
  int32_t most = 0;
  for (int i = 0; i < 4; i++) {
    most = tw_x_max(most, tw_x_dotup4(tw_x_abs4(tw_x_load(a + 4 * i)), 0x01010101));
  }
  return most <= TW_SHORT_ROW;
}

static inline void score(const tw_masked_softmax_params *p, const uint8_t *table, quad_group *g) {
  if (g->is_short) {
    score_short(&p->scores, table, g);
  } else {
    score_clipped(&p->scores, table, g);
  }
}

/* ---- tables ---- */

/* What lies beyond the scores of clipped products, for those that are not clipped: as far as 16 bits reach. */
static inline int32_t reach_of(const tw_scoring *s) {
  const int32_t size = s->factor < 0 ? -s->factor : s->factor;
  return ((size * 128 * TW_SHORT_ROW + (1 << 15)) >> 16) + 1;
}

static inline int32_t table_words(int32_t reach) { return (2 * reach + 4) >> 2; }

/* All cores together: the score of each index, from -reach on. */
static TW_COMPACT void widen_table(const tw_scoring *s, int32_t reach, uint32_t *to) {
  const int32_t one = tw_x_mulsr16(s->bound, s->factor), other = tw_x_mulsr16(-s->bound - 1, s->factor);
  const int32_t last = tw_x_max(one, other) + s->base;
  const tw_share share = tw_share_of(table_words(reach));
  for (int32_t word = share.first; word < share.end; word++) {
    const int32_t index = 4 * word - reach + s->base;
    uint32_t four = 0x01010101u * s->table[index < 0 ? 0 : last];
    if (index >= 0 && index + 3 <= last) {
      four = tw_x_load(s->table + index);
    } else if (index + 3 > 0 && index < last) {
      four = 0;
      for (int32_t f = 0; f < 4; f++) four |= (uint32_t)s->table[tw_x_clipu(index + f, last)] << (8 * f);
    }
    to[word] = four;
  }
  tw_barrier();
}

/* ---- masks ---- */

/* Of the four words of a column of rows, the bits in which any differs from `word`. */
static inline uint32_t differing(const TW_M *m, int32_t step, uint32_t word) {
  const uint32_t w0 = tw_x_load(m), w1 = tw_x_load(m + step), w2 = tw_x_load(m + 2 * step), w3 = tw_x_load(m + 3 * step);
  return (w0 ^ word) | (w1 ^ word) | (w2 ^ word) | (w3 ^ word);
}

/* The last columns are quiet if they are alike and worth their own loop: several words, or behind a triangle. */
static __attribute__((noinline)) void set_quad_mask(const tw_masked_softmax_params *p, const TW_M *bytes,
                                                    const alike_columns *quiet, quad_mask *mask) {
  const int32_t step = p->mask_row, columns = p->columns >> 2;
  const uint32_t four = 0x01010101u * (uint8_t)quiet->byte;
  int32_t plain = 0, loud = columns;
  while (plain < columns && !differing(bytes + 4 * plain, step, 0)) plain++;
  while (four && loud > plain && !differing(bytes + 4 * loud - 4, step, four)) loud--;
  if (loud == 0 || (loud > plain + 1 && loud + 2 > columns)) loud = columns;
  mask->bytes = bytes;
  mask->plain = plain;
  mask->loud = loud;
  if (plain + 1 != loud) return;
  for (int32_t i = 0; i < 4; i++) mask->words[i] = word_of(masks_of(p->masks), bytes + i * step + 4 * plain);
}

/* Masks scores that are neither plain nor quiet, and finds the largest in each lane. */
static TW_COMPACT void mask_any(const tw_masked_softmax_params *p, const quad_group *g, const quad_mask *mask, uint8_t *x,
                                uint32_t lanes[4]) {
  for (int32_t i = 0; i < 4; i++, x += g->step) {
    const mask_row row = {mask->bytes + i * p->mask_row, 0, 0, 4 * mask->plain, 4 * mask->loud, g->quiet};
    mask_many(p->masks, &row, x, mask->loud - mask->plain);
    lanes[i] = (uint32_t)largest_lanes(x, row.loud);
  }
}

/* The same where that is one word of each row, as a triangle has it. */
static inline void mask_word_each(const quad_group *g, const quad_mask *mask, uint8_t *x, uint32_t lanes[4]) {
  x += 4 * mask->plain;
  for (int i = 0; i < 4; i++, x += g->step) {
    const uint32_t four = masked(tw_x_load(x), &mask->words[i]);
    tw_x_store(x, four);
    lanes[i] = (uint32_t)tw_x_maxu4((int32_t)lanes[i], (int32_t)four);
  }
}

/* The largest lanes of four words, as the bytes of one. */
static inline uint32_t largest_of_each(const uint32_t lanes[4]) {
  uint32_t turned[4];
  tw_transpose_4x4(lanes, turned);
  const int32_t low = tw_x_maxu4((int32_t)turned[0], (int32_t)turned[1]);
  return (uint32_t)tw_x_maxu4(low, tw_x_maxu4((int32_t)turned[2], (int32_t)turned[3]));
}

/* Scores are masked, and rows end with their loud columns. Returns whether quiet columns count for any row: these are to
 * be scored next. */
static __attribute__((noinline)) int mask_quads(const tw_masked_softmax_params *p, quad_group *g) {
  const int32_t columns = p->columns >> 2, matters = g->quiet.highest + p->gone;
  const uint32_t below = 0x01010101u * (uint32_t)tw_x_clipu(matters, 255);
  line *lines = g->lines;
  uint8_t *x = g->x;
  int any = 0;
  for (int32_t i = 0; i < g->count; i++, lines += 4, x += 4 * g->step) {
    quad *const q = &g->quads[i];
    const quad_mask *const mask = q->mask;
    const int32_t loud = mask->loud;
    uint32_t lanes[4] = {lines[0].factor, lines[1].factor, lines[2].factor, lines[3].factor};
    if (mask->plain + 1 == loud) {
      mask_word_each(g, mask, x, lanes);
    } else if (mask->plain < loud) {
      mask_any(p, g, mask, x, lanes);
    }
    const uint32_t largest = largest_of_each(lanes);
    tw_x_store(g->largest + 4 * i, largest);
    for (int r = 0; r < 4; r++) lines[r].words = loud;
    const int counts = loud < columns && (matters > 255 || (uint32_t)tw_x_minu4((int32_t)largest, (int32_t)below) != below);
    set_words_to_score(q, loud, counts ? columns - loud : 0, 0);
    any |= counts;
  }
  return any;
}

/* Rows for which quiet columns count, now that their scores are known, end with these. */
static __attribute__((noinline)) void count_quiet(const tw_masked_softmax_params *p, quad_group *g) {
  const int32_t matters = g->quiet.highest + p->gone, columns = p->columns >> 2, gone = p->gone;
  for (int32_t i = 0; i < 4 * g->count; i++) {
    line *const row = &g->lines[i];
    const int32_t loud = g->largest[i];
    if (row->words == columns || loud >= matters) continue;
    const int32_t quiet = tw_largest_lane(row->factor), largest = tw_x_max(loud, quiet);
    g->of_quiet[i] = (uint8_t)quiet;
    g->largest[i] = (uint8_t)largest;
    if (largest - quiet < gone) row->words = columns;
  }
}

/* ---- shares ---- */

#if TW_XPULP
/* For each row: as many turns as it has words. `d0` begins as the number of rows. */
#define TW_A_EACH_ROW(LINES) TW_A_OUTER_LOOP("%[d0]", LINES) "lw %[d0], 12(%[row])\nmv %[at], %[x]\n"
#define TW_A_NEXT_ROW "add %[x], %[x], %[step]\naddi %[row], %[row], 16\n"

static __attribute__((noinline)) void total_rows(const uint32_t *exponentials, quad_group *g) {
  uint32_t word, total, d0 = 4 * (uint32_t)g->count, d1, d2, d3;
  const uint32_t *table;
  const uint8_t *at, *x = g->x, *largest = g->largest;
  line *row = g->lines;
  __asm__ volatile(
      TW_A_BEGIN TW_A_EACH_ROW(27) "lbu %[d1], 0(%[largest])\nli %[total], 0\nli %[d3], 0\nslli %[d1], %[d1], 2\n"
      "sub %[table], %[last], %[d1]\nsw %[table], 0(%[row])\naddi %[largest], %[largest], 1\n"
      TW_A_LOOP("%[d0]", 13) TW_A_LW("%[word]", "%[at]", "4") "add %[total], %[total], %[d3]\n"
      TW_A_OFFSETS("%[word]", "%[d0]", "%[d1]", "%[d2]", "%[d3]")
      TW_A_FOUR(TW_A_EXPONENTIAL, "%[d0]", "%[d1]", "%[d2]", "%[d3]")
      "add %[total], %[total], %[d0]\nadd %[total], %[total], %[d1]\nadd %[total], %[total], %[d2]\n"
      "add %[total], %[total], %[d3]\nsw %[total], 4(%[row])\n" TW_A_NEXT_ROW TW_A_END
      : [x] "+r"(x), [row] "+r"(row), [largest] "+r"(largest), [at] "=&r"(at), [table] "=&r"(table), [word] "=&r"(word),
        [total] "=&r"(total), [d0] "+&r"(d0), [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3)
      : [step] "r"(g->step), [last] "r"(exponentials + 255), [first] "i"(TW_I_FIRST_UU), TW_LANES
      : "memory");
}

/* INNER instructions for each word, and LINES for a row. A result is stored behind the next load, which would have to be
 * waited for: what comes before the first goes to the word before the row. */
#define TW_SHARE_ROWS(LINES, INNER, BEFORE, PRODUCT)                                                                  \
  __asm__ volatile(                                                                                                   \
      TW_A_BEGIN TW_A_EACH_ROW(LINES) "lw %[table], 0(%[row])\nlw %[reciprocal], 4(%[row])\nlw %[shift], 8(%[row])\n"  \
      BEFORE TW_A_LOOP("%[d0]", INNER) TW_A_LW("%[word]", "%[at]", "4") "sw %[d0], -8(%[at])\n" TW_A_SHARES(PRODUCT)   \
      "sw %[d0], -4(%[at])\n" TW_A_NEXT_ROW TW_A_END                                                                  \
      : [x] "+r"(x), [row] "+r"(row), [at] "=&r"(at), [table] "=&r"(table), [word] "=&r"(word), [d0] "+&r"(d0),       \
        [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3), [e0] "=&r"(e0), [e1] "=&r"(e1), [e2] "=&r"(e2),               \
        [e3] "=&r"(e3), [reciprocal] "=&r"(reciprocal), [shift] "=&r"(shift), [upper] "=&r"(upper)                    \
      : [step] "r"(g->step), [results] "r"(results), [first] "i"(TW_I_FIRST_UU), TW_LANES                             \
      : "memory")

static __attribute__((noinline)) void share_rows(int way, const uint8_t *results, quad_group *g) {
  uint32_t word, d0 = 4 * (uint32_t)g->count, d1, d2, d3, e0, e1, e2, e3, reciprocal, shift, upper;
  const uint32_t *table;
  const uint8_t *at, *x = g->x;
  line *row = g->lines;
  if (way == TW_SHARES_LOW) {
    TW_SHARE_ROWS(33, 24, "", TW_A_MAC);
  } else if (way == TW_SHARES_HIGH) {
    TW_SHARE_ROWS(33, 24, "", TW_A_MULHU);
  } else {
    TW_SHARE_ROWS(38, 28, "srli %[upper], %[reciprocal], 16\n", TW_A_HALVES);
  }
}
#else
static void total_rows(const uint32_t *exponentials, quad_group *g) {
  for (int i = 0; i < 4 * g->count; i++) {
    line *const row = &g->lines[i];
    row->table = exponentials + 255 - g->largest[i];
    row->factor = total_of(row->table, g->x + i * g->step, 4 * row->words);
  }
}

static void share_rows(int way, const uint8_t *results, quad_group *g) {
  for (int i = 0; i < 4 * g->count; i++) {
    const line *const row = &g->lines[i];
    uint8_t *const x = g->x + i * g->step;
    const row_values values = {row->table, results, 0, 0, row->factor, row->shift};
    if (way == TW_SHARES_LOW) {
      share_out_low(&values, x, x, 4 * row->words);
    } else if (way == TW_SHARES_HIGH) {
      share_out_high(&values, x, x, 4 * row->words);
    } else {
      share_out_halves(&values, x, x, 4 * row->words);
    }
  }
}
#endif

/* Whether a row whose quiet columns count has shares there. */
static inline int has_quiet_shares(const tw_masked_softmax_params *p, const line *row, int32_t largest, int32_t quiet) {
  if (largest - quiet < p->quiet) return 1;
  return bound_of(p, row->table[quiet]) * (uint32_t)p->tables.top >= row->factor;
}

static __attribute__((noinline)) void drop_quiet(const tw_masked_softmax_params *p, quad_group *g) {
  for (int32_t i = 0; i < 4 * g->count; i++) {
    line *const row = &g->lines[i];
    const int32_t loud = g->quads[i >> 2].mask->loud;
    if (row->words > loud && !has_quiet_shares(p, row, g->largest[i], g->of_quiet[i])) row->words = loud;
  }
}

/* From totals to what exponentials are multiplied by. */
static __attribute__((noinline)) void factor_rows(const tw_masked_softmax_params *p, int way, quad_group *g) {
  const uint32_t largest = p->tables.exponentials[255], top = (uint32_t)p->tables.top;
  line *const end = g->lines + 4 * g->count;
  for (line *row = g->lines; row != end; row++) {
    const share_factor factor = factor_of(way, top, largest, row->factor);
    row->factor = factor.reciprocal, row->shift = factor.shift;
  }
}

#endif
