/* Panels: four rows of bytes side by side, a word of each in turn. Rows that are missing and bytes behind a row's end are
 * zeros. A block is the sums of the products of two panels, 4 x 4. Blocks are dealt out to all cores; where there are fewer
 * than cores, each is cut along the sum.
 *
 * Needs TW_A_SIGNED and TW_B_SIGNED. */
#ifndef TW_PANELS_H
#define TW_PANELS_H

#include "cluster.h"
#include "tw.h"
#include "xpulp.h"

#define TW_PANEL 4         /* rows of a panel */
#define TW_BLOCK 16        /* sums of a block */
#define TW_SHORTEST_PART 8 /* words of a sum that are worth a core */
#define TW_ONES 0x01010101u

typedef struct {
  const uint32_t *a, *b; /* panels: of matrix after matrix, `words` times four words each */
  int32_t a_panels, b_panels, words;
  int32_t matrices;
  int32_t *partial; /* sums of parts of blocks, where blocks are cut */
} tw_panels;

/* ---- sums of products ---- */

/* Of bytes that are signed in neither operand, in the second only, or in both: there is no instruction for the first only. */
#define TW_SWAPS (TW_A_SIGNED && !TW_B_SIGNED)
#define TW_DOT_CODE (TW_A_SIGNED && TW_B_SIGNED ? 0x5c : TW_A_SIGNED || TW_B_SIGNED ? 0x54 : 0x50)
#define TW_DOT(total, a, b) TW_A_R("0x57, 1, %[code]", total, a, b)

#define TW_ZERO(register) "li %[" register "], 0\n"

/* A word of each row is loaded as soon as the one before is no longer needed: up to eight cycles before its use, while other
 * loads are on the way. The loop fits the core's own instruction cache. */
static __attribute__((noinline)) void tw_block(const uint32_t *first, const uint32_t *second, int32_t words, int32_t *total) {
#if TW_XPULP
  const uint32_t *a = TW_SWAPS ? second : first, *b = TW_SWAPS ? first : second;
  int32_t t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15;
  uint32_t a0, a1, a2, a3, b0, b1, b2, b3;
  const uint32_t *const end = a + TW_PANEL * words;
  __asm__ volatile(
      TW_A_LW("%[a0]", "%[a]", "4") TW_A_LW("%[b0]", "%[b]", "4") TW_A_LW("%[b1]", "%[b]", "4")
      TW_A_LW("%[b2]", "%[b]", "4") TW_A_LW("%[b3]", "%[b]", "4") TW_A_LW("%[a1]", "%[a]", "4")
      TW_A_LW("%[a2]", "%[a]", "4") TW_A_LW("%[a3]", "%[a]", "4")
      TW_ZERO("t0") TW_ZERO("t1") TW_ZERO("t2") TW_ZERO("t3") TW_ZERO("t4") TW_ZERO("t5") TW_ZERO("t6") TW_ZERO("t7")
      TW_ZERO("t8") TW_ZERO("t9") TW_ZERO("t10") TW_ZERO("t11") TW_ZERO("t12") TW_ZERO("t13") TW_ZERO("t14") TW_ZERO("t15")
      "beq %[a], %[end], 2f\n"
      ".balign 32\n"
      "1:\n"
      TW_DOT("%[t0]", "%[a0]", "%[b0]") TW_DOT("%[t1]", "%[a0]", "%[b1]") TW_DOT("%[t2]", "%[a0]", "%[b2]")
      TW_DOT("%[t3]", "%[a0]", "%[b3]") TW_A_LW("%[a0]", "%[a]", "4")
      TW_DOT("%[t4]", "%[a1]", "%[b0]") TW_DOT("%[t5]", "%[a1]", "%[b1]") TW_DOT("%[t6]", "%[a1]", "%[b2]")
      TW_DOT("%[t7]", "%[a1]", "%[b3]") TW_A_LW("%[a1]", "%[a]", "4")
      TW_DOT("%[t8]", "%[a2]", "%[b0]") TW_DOT("%[t9]", "%[a2]", "%[b1]") TW_DOT("%[t10]", "%[a2]", "%[b2]")
      TW_DOT("%[t11]", "%[a2]", "%[b3]") TW_A_LW("%[a2]", "%[a]", "4")
      TW_DOT("%[t12]", "%[a3]", "%[b0]") TW_A_LW("%[b0]", "%[b]", "4")
      TW_DOT("%[t13]", "%[a3]", "%[b1]") TW_A_LW("%[b1]", "%[b]", "4")
      TW_DOT("%[t14]", "%[a3]", "%[b2]") TW_A_LW("%[b2]", "%[b]", "4")
      TW_DOT("%[t15]", "%[a3]", "%[b3]") TW_A_LW("%[b3]", "%[b]", "4")
      TW_A_LW("%[a3]", "%[a]", "4")
      "bne %[a], %[end], 1b\n"
      "2:\n"
      TW_DOT("%[t0]", "%[a0]", "%[b0]") TW_DOT("%[t1]", "%[a0]", "%[b1]") TW_DOT("%[t2]", "%[a0]", "%[b2]")
      TW_DOT("%[t3]", "%[a0]", "%[b3]") TW_DOT("%[t4]", "%[a1]", "%[b0]") TW_DOT("%[t5]", "%[a1]", "%[b1]")
      TW_DOT("%[t6]", "%[a1]", "%[b2]") TW_DOT("%[t7]", "%[a1]", "%[b3]") TW_DOT("%[t8]", "%[a2]", "%[b0]")
      TW_DOT("%[t9]", "%[a2]", "%[b1]") TW_DOT("%[t10]", "%[a2]", "%[b2]") TW_DOT("%[t11]", "%[a2]", "%[b3]")
      TW_DOT("%[t12]", "%[a3]", "%[b0]") TW_DOT("%[t13]", "%[a3]", "%[b1]") TW_DOT("%[t14]", "%[a3]", "%[b2]")
      TW_DOT("%[t15]", "%[a3]", "%[b3]")
      : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6),
        [t7] "=&r"(t7), [t8] "=&r"(t8), [t9] "=&r"(t9), [t10] "=&r"(t10), [t11] "=&r"(t11), [t12] "=&r"(t12), [t13] "=&r"(t13),
        [t14] "=&r"(t14), [t15] "=&r"(t15), [a] "+r"(a), [b] "+r"(b), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2),
        [a3] "=&r"(a3), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3)
      : [end] "r"(end), [code] "i"(TW_DOT_CODE)
      : "memory");
  /* By rows of what was taken for a. */
  const int r = TW_SWAPS ? 1 : TW_PANEL, c = TW_SWAPS ? TW_PANEL : 1;
  total[0] = t0, total[c] = t1, total[2 * c] = t2, total[3 * c] = t3;
  total[r] = t4, total[r + c] = t5, total[r + 2 * c] = t6, total[r + 3 * c] = t7;
  total[2 * r] = t8, total[2 * r + c] = t9, total[2 * r + 2 * c] = t10, total[2 * r + 3 * c] = t11;
  total[3 * r] = t12, total[3 * r + c] = t13, total[3 * r + 2 * c] = t14, total[3 * r + 3 * c] = t15;
#else
  for (int i = 0; i < TW_BLOCK; i++) total[i] = 0;
  for (; words > 0; words--, first += TW_PANEL, second += TW_PANEL) {
    for (int i = 0; i < TW_BLOCK; i++) {
      const uint32_t a = first[i / TW_PANEL], b = second[i % TW_PANEL];
      total[i] = TW_SWAPS      ? tw_x_sdotusp4(total[i], b, a)
                 : TW_A_SIGNED ? tw_x_sdotsp4(total[i], a, b)
                 : TW_B_SIGNED ? tw_x_sdotusp4(total[i], a, b)
                               : tw_x_sdotup4(total[i], a, b);
    }
  }
#endif
}

/* The sum of a row's bytes: of those of a, or of b. */
static inline int32_t tw_row_sum(const uint32_t *row, int32_t words, int is_signed) {
  int32_t sum = 0;
  for (; words > 0; words--, row += TW_PANEL) {
    sum = is_signed ? tw_x_sdotsp4(sum, *row, TW_ONES) : tw_x_sdotup4(sum, *row, TW_ONES);
  }
  return sum;
}

/* Of rows that are dealt out to all cores. */
static inline void tw_row_sums(const uint32_t *panels, int32_t rows, int32_t words, int is_signed, int32_t *sums) {
  const tw_share mine = tw_share_of(rows);
  for (int32_t row = mine.first; row < mine.end; row++) {
    sums[row] = tw_row_sum(panels + row / TW_PANEL * TW_PANEL * words + row % TW_PANEL, words, is_signed);
  }
}

/* ---- blocks ---- */

/* What becomes of a block's sums, or of one of them: of matrix, panel of a and panel of b. */
typedef void tw_whole_block(const void *work, int32_t matrix, int32_t i, int32_t j, const int32_t *total);
typedef void tw_one_sum(const void *work, int32_t matrix, int32_t row, int32_t column, int32_t total);

/* Into how many parts sums are cut, so that all cores have something to do. */
static inline int32_t tw_parts(int32_t blocks, int32_t words) {
  return 2 * blocks > TW_CORES ? 1 : tw_max(1, tw_min(TW_CORES / tw_max(blocks, 1), words / TW_SHORTEST_PART));
}

static inline void tw_whole_blocks(const tw_panels *p, const void *work, tw_whole_block *finish) {
  const int32_t size = TW_PANEL * p->words, in_matrix = p->a_panels * p->b_panels;
  const tw_share mine = tw_share_of(p->matrices * in_matrix);
  int32_t matrix = mine.first / in_matrix, rest = mine.first % in_matrix;
  int32_t i = rest / p->b_panels, j = rest % p->b_panels;
  int32_t total[TW_BLOCK];
  for (int32_t block = mine.first; block < mine.end; block++) {
    tw_block(p->a + (matrix * p->a_panels + i) * size, p->b + (matrix * p->b_panels + j) * size, p->words, total);
    finish(work, matrix, i, j, total);
    if (++j < p->b_panels) continue;
    j = 0;
    if (++i < p->a_panels) continue;
    i = 0;
    matrix++;
  }
}

/* Parts of sums by all cores, then the sums of the parts. */
static inline void tw_cut_blocks(const tw_panels *p, int32_t parts, const void *work, tw_one_sum *finish) {
  const int32_t size = TW_PANEL * p->words, in_matrix = p->a_panels * p->b_panels, blocks = p->matrices * in_matrix;
  const int32_t core = tw_core();
  if (core < blocks * parts) {
    const int32_t block = core / parts, part = core % parts, matrix = block / in_matrix, rest = block % in_matrix;
    const int32_t first = part * p->words / parts, end = (part + 1) * p->words / parts;
    const uint32_t *const a = p->a + (matrix * p->a_panels + rest / p->b_panels) * size;
    const uint32_t *const b = p->b + (matrix * p->b_panels + rest % p->b_panels) * size;
    tw_block(a + TW_PANEL * first, b + TW_PANEL * first, end - first, p->partial + core * TW_BLOCK);
  }
  tw_barrier();
  const tw_share mine = tw_share_of(blocks * TW_BLOCK);
  for (int32_t one = mine.first; one < mine.end; one++) {
    const int32_t block = one / TW_BLOCK, at = one % TW_BLOCK, matrix = block / in_matrix, rest = block % in_matrix;
    const int32_t *const partial = p->partial + block * parts * TW_BLOCK + at;
    uint32_t sum = 0;
    for (int32_t part = 0; part < parts; part++) sum += (uint32_t)partial[part * TW_BLOCK];
    finish(work, matrix, rest / p->b_panels * TW_PANEL + at / TW_PANEL, rest % p->b_panels * TW_PANEL + at % TW_PANEL,
           (int32_t)sum);
  }
}

static inline void tw_blocks(const tw_panels *p, const void *work, tw_whole_block *whole, tw_one_sum *one) {
  const int32_t parts = tw_parts(p->matrices * p->a_panels * p->b_panels, p->words);
  if (parts == 1) {
    tw_whole_blocks(p, work, whole);
  } else {
    tw_cut_blocks(p, parts, work, one);
  }
}

/* ---- filling panels ---- */

static inline uint32_t tw_word_of_bytes(const uint8_t *from, int32_t step, int32_t count) {
  uint32_t word = from[0];
  if (count > 1) word |= (uint32_t)from[step] << 8;
  if (count > 2) word |= (uint32_t)from[2 * step] << 16;
  if (count > 3) word |= (uint32_t)from[3 * step] << 24;
  return word;
}

/* Bytes side by side to words of a row of a panel; returns the place behind them. */
static inline uint32_t *tw_fill_run(uint32_t *to, const uint8_t *from, int32_t bytes) {
  int32_t words = bytes >> 2;
  if (((uintptr_t)from & 3) == 0) {
    const uint32_t *word = (const uint32_t *)(const void *)from;
    from += 4 * words;
    for (; words >= 4; words -= 4, word += 4, to += 4 * TW_PANEL) {
      const uint32_t w0 = word[0], w1 = word[1], w2 = word[2], w3 = word[3];
      to[0] = w0, to[TW_PANEL] = w1, to[2 * TW_PANEL] = w2, to[3 * TW_PANEL] = w3;
    }
    for (; words > 0; words--, to += TW_PANEL) *to = *word++;
  }
  for (; words > 0; words--, from += 4, to += TW_PANEL) *to = tw_word_of_bytes(from, 1, 4);
  if (bytes & 3) {
    *to = tw_word_of_bytes(from, 1, bytes & 3);
    to += TW_PANEL;
  }
  return to;
}

/* One row: bytes that lie `along` apart. */
static inline void tw_fill_row(uint32_t *to, const uint8_t *from, int32_t along, int32_t length) {
  if (along == 1) {
    tw_fill_run(to, from, length);
    return;
  }
  for (; length > 0; length -= 4, from += 4 * along, to += TW_PANEL) *to = tw_word_of_bytes(from, along, tw_min(length, 4));
}

static inline void tw_fill_zeros(uint32_t *to, int32_t words) {
  for (; words > 0; words--, to += TW_PANEL) *to = 0;
}

#endif
