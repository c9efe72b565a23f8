/* Bytes that become doubles, eight at a time, and bytes again. Files that include this say what is computed in between
 * (TW_BLOCK_STEPS), with TW_X and TW_Y the types of both ends. */
#ifndef TW_BYTE_BLOCKS_H
#define TW_BYTE_BLOCKS_H

#include "doubles_sizes.h"
#include "exact_doubles.h"
#include "requant.h"
#include "streams.h"

#define BLOCK TW_DOUBLES_BLOCK

/* A byte that is stored as this one of the bytes of 4096.0 is added to it. */
#define BASE 4096.0
#define BYTE_IN_BASE 5
/* Bytes with a sign are stored with 128 added. */
#define IS_SIGNED ((TW_X)-1 < 0)
#define OFFSET (BASE + (IS_SIGNED ? 128.0 : 0.0))

/* What all rows share, and of each core the room for elements that are at work and for two blocks of results. */
typedef struct {
  double *factor, *summand, *row, *results;
} tables;

/* `shared` factors and as many summands; `length` elements of each core, which begin in different banks. */
static inline tables tables_in(double *scratch, int32_t shared, int32_t length) {
  double *const own = scratch + 2 * shared + tw_core() * tw_own_doubles(length);
  const tables t = {scratch, scratch + shared, own, own + length};
  return t;
}

static inline void put_byte(double *to, uint32_t byte) { ((volatile uint8_t *)to)[BYTE_IN_BASE] = (uint8_t)byte; }

static inline void put_four(double *to, uint32_t bytes) {
  put_byte(to, bytes);
  put_byte(to + 1, bytes >> 8);
  put_byte(to + 2, bytes >> 16);
  put_byte(to + 3, bytes >> 24);
}

/* Bytes as doubles, OFFSET more than they are. */
static void spread_bytes(double *row, const TW_X *x, int32_t length) {
  const uint32_t flip = IS_SIGNED ? 0x80808080u : 0;
  if (((uintptr_t)x & 3) == 0) {
    for (; length >= 8; length -= 8, x += 8, row += 8) {
      const uint32_t *const words = (const uint32_t *)(const void *)x;
      const uint32_t first = words[0], second = words[1];
      put_four(row, first ^ flip);
      put_four(row + 4, second ^ flip);
    }
  }
  for (; length > 0; length--) put_byte(row++, (uint32_t)*x++ ^ flip);
}

/* As much of the zero point as sums may have without being rounded to another neighbour: an even number where halves go to
 * that. */
static inline int32_t zero_in_sums(const tw_requant *r) {
  return r->rounding == TW_HALF_EVEN ? r->zero_point & ~1 : r->zero_point;
}

static inline int32_t clipped(const tw_requant *r, int32_t value) {
  const int32_t low = r->low - r->zero_point, high = r->high - r->zero_point;
  return (value < low ? low : value > high ? high : value) + r->zero_point;
}

/* An instruction whose counted registers go on by one from element to element: d ("x3"), d and a ("x7"). */
#define TW_ALL_EIGHT(counted, instruction) ".insn i 0x0b, 7, " counted ", %[seven], 0\n" instruction "\n"

/* TW_BLOCK_STEPS leave eight elements in f8 to f15: they go side by side, as each step of one takes as long as four. */
static inline void scale_block(double *results) {
  __asm__ volatile(
      TW_BLOCK_STEPS
      "fsd f8, 0(%[to])\n fsd f9, 8(%[to])\n fsd f10, 16(%[to])\n fsd f11, 24(%[to])\n"
      "fsd f12, 32(%[to])\n fsd f13, 40(%[to])\n fsd f14, 48(%[to])\n fsd f15, 56(%[to])\n"
      :
      : [seven] "r"(BLOCK - 1), [to] "r"(results)
      : "ft0", "ft1", "ft2", "f8", "f9", "f10", "f11", "f12", "f13", "f14", "f15", "memory");
}

/* The integer core waits only for what is not stored yet. `rest` is what sums lack of the zero point. */
static inline void store_block(const double *results, TW_Y *y, int32_t low, int32_t high, int32_t rest) {
  int32_t v[BLOCK];
  for (int32_t j = 0; j < BLOCK; j++) v[j] = tw_rounded(results + j);
  for (int32_t j = 0; j < BLOCK; j++) {
    if (v[j] < low) v[j] = low;
    if (v[j] > high) v[j] = high;
  }
  for (int32_t j = 0; j < BLOCK; j++) y[j] = (TW_Y)(v[j] + rest);
}

/* Results of one block are stored while the unit computes the next one. */
static inline __attribute__((always_inline)) void scale_and_store(double *results, TW_Y *y, int32_t blocks, int32_t low,
                                                                  int32_t high, int32_t rest) {
  double *made = results, *next = results + BLOCK;
  scale_block(made);
  for (; blocks > 1; blocks--, y += BLOCK) {
    scale_block(next);
    store_block(made, y, low, high, rest);
    double *const other = made;
    made = next;
    next = other;
  }
  store_block(made, y, low, high, rest);
}

/* `results` have room for two blocks. */
static inline void scale_blocks(const tw_requant *r, double *results, TW_Y *y, int32_t blocks) {
  const int32_t rest = r->zero_point - zero_in_sums(r), low = r->low - rest, high = r->high - rest;
  if (rest == 0) {
    scale_and_store(results, y, blocks, low, high, 0);
  } else {
    scale_and_store(results, y, blocks, low, high, rest);
  }
}

#endif
