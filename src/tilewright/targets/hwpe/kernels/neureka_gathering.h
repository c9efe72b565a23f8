/* All cores gather windows into strips (neureka_gathered.h). */
#ifndef TW_NEUREKA_GATHERING_H
#define TW_NEUREKA_GATHERING_H

#include "cluster.h"
#include "neureka_gathered.h"
#include "xpulp.h"

/* Some rows, at any address, with a value of four equal bytes. */
static TW_COMPACT void tw_gather_fill(uint8_t *to, int32_t rows, int32_t bytes, int32_t row, uint32_t value) {
  for (; rows > 0; rows--, to += row) {
    int32_t at = 0;
    for (; at + 16 <= bytes; at += 16) {
      tw_x_store(to + at, value);
      tw_x_store(to + at + 4, value);
      tw_x_store(to + at + 8, value);
      tw_x_store(to + at + 12, value);
    }
    for (; at + 4 <= bytes; at += 4) tw_x_store(to + at, value);
    for (; at < bytes; at++) to[at] = (uint8_t)value;
  }
}

#if TW_XPULP

#define TW_A_PAIR                                                                                                      \
  TW_A_LOOP("%[pairs]", 4) TW_A_LW("%[a]", "%[from]", "4") TW_A_LW("%[b]", "%[from]", "4") TW_A_SW("%[a]", "%[to]", "4") \
  TW_A_SW("%[b]", "%[to]", "4")
#define TW_A_NEXT "add %[from], %[from], %[from_gap]\nadd %[to], %[to], %[to_gap]\n"
#define TW_A_BACK "add %[from], %[from], %[back]\nadd %[to], %[to], %[back]\n"
#define TW_A_BYTE "lbu %[a], 0(%[from])\nsb %[a], 0(%[to])\n"
#define TW_A_WORD TW_A_BACK "lw %[a], 0(%[from])\nsw %[a], 0(%[to])\n"
#define TW_A_WORDS TW_A_BACK "lw %[a], 0(%[from])\nlw %[b], 4(%[from])\nsw %[a], 0(%[to])\nsw %[b], 4(%[to])\n"

/* `last` is what is moved besides the pairs of words, which some instructions do; before that both go back a little. */
#define TW_GATHER_ROWS(name, LAST, instructions, last)                                                                 \
  static void name(uint8_t *to, const uint8_t *from, int32_t rows, int32_t bytes, int32_t to_row, int32_t from_row) {  \
    const int32_t back = (bytes & 7) - (last), moved = bytes - (last);                                                 \
    uint32_t a, b;                                                                                                     \
    __asm__ volatile(TW_A_BEGIN TW_A_OUTER_LOOP("%[rows]", (instructions + 7)) TW_A_PAIR LAST TW_A_NEXT TW_A_END       \
                     : [to] "+r"(to), [from] "+r"(from), [a] "=&r"(a), [b] "=&r"(b)                                    \
                     : [rows] "r"(rows), [pairs] "r"(bytes >> 3), [back] "r"(back), [from_gap] "r"(from_row - moved),  \
                       [to_gap] "r"(to_row - moved)                                                                    \
                     : "memory");                                                                                      \
  }
TW_GATHER_ROWS(tw_gather_pairs, "", 0, 0)
TW_GATHER_ROWS(tw_gather_pairs_byte, TW_A_BYTE, 2, 1)
TW_GATHER_ROWS(tw_gather_pairs_word, TW_A_WORD, 4, 4)
TW_GATHER_ROWS(tw_gather_pairs_words, TW_A_WORDS, 6, 8)

/* Rows of at least eight bytes, at any address: two words at a time, of which the last may have bytes of those before. */
static TW_COMPACT void tw_gather_words(uint8_t *to, const uint8_t *from, int32_t rows, int32_t bytes, int32_t to_row,
                                       int32_t from_row) {
  const int32_t rest = bytes & 7;
  if (rest == 0) {
    tw_gather_pairs(to, from, rows, bytes, to_row, from_row);
  } else if (rest == 1) {
    tw_gather_pairs_byte(to, from, rows, bytes, to_row, from_row);
  } else if (rest <= 4) {
    tw_gather_pairs_word(to, from, rows, bytes, to_row, from_row);
  } else {
    tw_gather_pairs_words(to, from, rows, bytes, to_row, from_row);
  }
}

#endif

static inline void tw_gather_rows(uint8_t *to, const uint8_t *from, int32_t rows, int32_t bytes, int32_t to_row,
                                  int32_t from_row) {
#if TW_XPULP
  if (bytes >= 8 && rows > 0) {
    tw_gather_words(to, from, rows, bytes, to_row, from_row);
    return;
  }
#endif
  for (; rows > 0; rows--, to += to_row, from += from_row) {
    if (bytes >= 4) {
      const int32_t last = bytes - 4;
      for (int32_t at = 0; at < last; at += 4) tw_x_store(to + at, tw_x_load(from + at));
      tw_x_store(to + last, tw_x_load(from + last));
    } else {
      for (int32_t i = 0; i < bytes; i++) to[i] = from[i];
    }
  }
}

/* Rows `row` to before `end` of the strip that begins at byte `first` of the image's rows, which may lie before them. */
static inline void tw_gather_strip(const tw_neureka_gather *g, uint8_t *strip, const uint8_t *image, int32_t first,
                                   int32_t row, int32_t end) {
  const uint32_t fill = (uint32_t)(g->fill & 0xff) * 0x01010101u;
  const int32_t before = tw_x_clipu(-first, g->run), after = tw_x_clipu(g->width - first, g->run);
  const int32_t from = tw_x_min(end, tw_x_max(row, g->top)), to = tw_x_max(from, tw_x_min(end, g->top + g->height));
  tw_gather_fill(strip + row * g->run, 1, (from - row) * g->run, 0, fill);
  tw_gather_fill(strip + to * g->run, 1, (end - to) * g->run, 0, fill);
  uint8_t *const rows = strip + from * g->run;
  if (before > 0) tw_gather_fill(rows, to - from, before, g->run, fill);
  if (after < g->run) tw_gather_fill(rows + after, to - from, g->run - after, g->run, fill);
  if (after <= before) return;
  tw_gather_rows(rows + before, image + (from - g->top) * g->width + first + before, to - from, after - before, g->run,
                 g->width);
}

/* This core's part of the rows of all strips. */
static inline void tw_gather(const tw_neureka_gather *g, const void *x, void *strips) {
  const tw_share share = tw_share_of(g->images * g->columns * g->rows);
  int32_t strip = (int32_t)((uint32_t)share.first / (uint32_t)g->rows), row = share.first - strip * g->rows;
  int32_t image = (int32_t)((uint32_t)strip / (uint32_t)g->columns), column = strip - image * g->columns;
  for (int32_t left = share.end - share.first; left > 0;) {
    const int32_t end = tw_x_min(g->rows, row + left);
    tw_gather_strip(g, (uint8_t *)strips + strip * g->rows * g->run, (const uint8_t *)x + image * g->height * g->width,
                    column * g->step - g->left, row, end);
    left -= end - row;
    row = 0, strip++;
    if (++column == g->columns) column = 0, image++;
  }
}

/* Bytes of all strips, in whole words. */
static inline int32_t tw_gather_bytes(const tw_neureka_gather *g) {
  return (g->images * g->columns * g->rows * g->run + 3) & ~3;
}

#endif
