/* ITAPool's ITAs: a start is a whole attention head, read from one block of memory. */
#ifndef TW_ITAPOOL_H
#define TW_ITAPOOL_H

#include <stdint.h>

#include "cluster.h"
#include "itapool_sizes.h"

#ifndef TW_ITAPOOL
#define TW_ITAPOOL 0x40000040u
#endif

/* Registers of an instance. */
typedef struct {
  volatile uint32_t state, from, to, record, rows, inner, width, others[5];
} tw_itapool_registers;

enum { TW_ITA_START = 1, TW_ITA_DONE = 4 };

static inline tw_itapool_registers *tw_ita(int32_t number) { return (tw_itapool_registers *)(uintptr_t)TW_ITAPOOL + number; }

/* Sizes of a head, and where its scales are: the addresses of factors (a byte each), of shifts (likewise) and of summands. */
typedef struct {
  int32_t rows, inner, width;
  const void *scales[3];
} tw_itapool_head;

static inline int32_t tw_front_bytes(const tw_itapool_head *h) { return tw_before_inputs(h->inner, h->width); }
static inline int32_t tw_back_bytes(const tw_itapool_head *h) { return tw_behind_inputs(h->inner, h->width); }
static inline int32_t tw_input_bytes(const tw_itapool_head *h) { return h->rows * h->inner; }
static inline int32_t tw_block_bytes(const tw_itapool_head *h) { return tw_bytes_of_block(h->rows, h->inner, h->width); }

static inline void tw_ita_start(int32_t number, const tw_itapool_head *h, const int8_t *block, int8_t *to) {
  tw_itapool_registers *const r = tw_ita(number);
  r->from = (uint32_t)(uintptr_t)block;
  r->to = (uint32_t)(uintptr_t)to;
  r->record = (uint32_t)(uintptr_t)h->scales;
  r->rows = (uint32_t)h->rows;
  r->inner = (uint32_t)h->inner;
  r->width = (uint32_t)h->width;
  __asm__ volatile("" ::: "memory"); /* it reads what was written before */
  r->state = TW_ITA_START;
}

static inline void tw_ita_wait(int32_t number) {
  while (!(tw_ita(number)->state & TW_ITA_DONE)) __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
  __asm__ volatile("" ::: "memory"); /* what it has written is read after this */
}

/* Where an ITA of `count` leaves its results: behind all blocks, or where its own block has room for inputs. */
static inline int8_t *tw_result_of(const tw_itapool_head *h, int8_t *blocks, int32_t number, int32_t count) {
  if (number == 0) return blocks + count * tw_block_bytes(h);
  return blocks + number * tw_block_bytes(h) + tw_front_bytes(h);
}

/* What all cores and all ITAs know when the cores have met: sizes, and where inputs are, which the registers of the first ITA say
 * for the others, too. */
static inline void tw_share_head(tw_itapool_head *shared, const tw_itapool_head *h, const int8_t *blocks) {
  if (tw_core() != 0) return;
  *shared = *h;
  tw_ita(0)->from = (uint32_t)(uintptr_t)blocks;
}

/* All of them work at a time; this core begins and awaits its own. */
static inline void tw_run_heads(const tw_itapool_head *h, int8_t *blocks, int32_t heads, int32_t count) {
  for (int32_t i = tw_core(); i < heads; i += TW_CORES) {
    tw_ita_start(i, h, blocks + i * tw_block_bytes(h), tw_result_of(h, blocks, i, count));
  }
  for (int32_t i = tw_core(); i < heads; i += TW_CORES) tw_ita_wait(i);
}

/* ---- what cores do before and behind it, each a part ---- */

#define TW_SIGNS 0x80808080u
#define TW_POOL_PART __attribute__((noinline, unused)) static /* not for least bytes: that divides, which four cores share */

static inline void tw_copy_16(void *to, const void *from, uint32_t flip) {
  const uint32_t *const word = from;
  uint32_t *const place = to;
  const uint32_t a = word[0] ^ flip, b = word[1] ^ flip, c = word[2] ^ flip, d = word[3] ^ flip; /* none waits for another */
  place[0] = a;
  place[1] = b;
  place[2] = c;
  place[3] = d;
}

static inline int tw_are_words(const void *a, const void *b) { return (((uintptr_t)a | (uintptr_t)b) & 3) == 0; }

static inline void tw_copy_bytes(int8_t *to, const int8_t *from, int32_t bytes, uint32_t flip) {
  int32_t at = 0;
  if (tw_are_words(to, from)) {
    for (; at + 16 <= bytes; at += 16) tw_copy_16(to + at, from + at, flip);
  }
  for (; at < bytes; at++) to[at] = (int8_t)(from[at] ^ (int8_t)flip);
}

TW_POOL_PART void tw_copy_part(int8_t *to, const int8_t *from, int32_t bytes) {
  const tw_share share = tw_share_of(bytes / 16);
  for (int32_t piece = share.first; piece < share.end; piece++) tw_copy_16(to + 16 * piece, from + 16 * piece, 0);
}

TW_POOL_PART void tw_clear_part(int8_t *to, int32_t bytes) {
  const tw_share share = tw_share_of(bytes / 32);
  uint32_t *place = (uint32_t *)(void *)to + 8 * share.first;
  for (int32_t left = share.end - share.first; left > 0; left--, place += 8) {
    for (int32_t i = 0; i < 8; i++) place[i] = 0;
  }
}

/* Weights and biases of a head into its block. */
static inline void tw_fill_weights(const tw_itapool_head *h, int8_t *block, const int8_t *front, const int8_t *back, int32_t head) {
  const int32_t front_bytes = tw_front_bytes(h), back_bytes = tw_back_bytes(h);
  tw_copy_part(block, front + head * front_bytes, front_bytes);
  tw_copy_part(block + front_bytes + 2 * tw_input_bytes(h), back + head * back_bytes, back_bytes);
}

/* Rows of `elements` bytes in blocks of 16 columns, with zeros behind the last rows and columns. */
TW_POOL_PART void tw_fill_input(const tw_itapool_head *h, int8_t *to, const int8_t *rows, int32_t count, int32_t elements, uint32_t flip) {
  const int32_t all = h->rows;
  const tw_share share = tw_share_of(h->inner / 16 * all);
  int32_t column = 0, row = share.first;
  for (; row >= all; row -= all) column += 16;
  for (int32_t piece = share.first; piece < share.end; piece++) {
    int8_t *const place = to + 16 * piece;
    int32_t bytes = row < count ? elements - column : 0;
    if (bytes > 16) bytes = 16;
    if (bytes > 0) tw_copy_bytes(place, rows + row * elements + column, bytes, flip);
    for (int32_t at = bytes > 0 ? bytes : 0; at < 16; at++) place[at] = 0;
    if (++row == all) {
      row = 0;
      column += 16;
    }
  }
}

/* The first columns of rows that an ITA has made, to where rows are `step` bytes apart. */
TW_POOL_PART void tw_take_result(int8_t *to, int32_t step, const int8_t *made, int32_t inner, int32_t rows, int32_t columns, uint32_t flip) {
  const tw_share share = tw_share_of(rows);
  for (int32_t row = share.first; row < share.end; row++) tw_copy_bytes(to + row * step, made + row * inner, columns, flip);
}

#endif
