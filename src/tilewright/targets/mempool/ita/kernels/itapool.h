/* ITAPool's ITAs: a start is a whole attention head, read from one block of memory. */
#ifndef TW_ITAPOOL_H
#define TW_ITAPOOL_H

#include <stdint.h>

#include "cluster.h"

#ifndef TW_ITAPOOL
#define TW_ITAPOOL 0x40000040u
#endif
#define TW_ITAS 4

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

static inline int32_t tw_front_bytes(const tw_itapool_head *h) { return 3 * h->inner * h->width; }
static inline int32_t tw_back_bytes(const tw_itapool_head *h) { return h->inner * h->width + 4 * (h->inner + 3 * h->width); }
static inline int32_t tw_input_bytes(const tw_itapool_head *h) { return h->rows * h->inner; }
static inline int32_t tw_block_bytes(const tw_itapool_head *h) { return tw_front_bytes(h) + 2 * tw_input_bytes(h) + tw_back_bytes(h); }

static inline void tw_ita_start(int32_t number, const tw_itapool_head *h, const int8_t *block, int8_t *to) {
  tw_itapool_registers *const r = tw_ita(number);
  r->from = (uint32_t)(uintptr_t)block;
  r->to = (uint32_t)(uintptr_t)to;
  r->record = (uint32_t)(uintptr_t)h->scales;
  r->rows = (uint32_t)h->rows;
  r->inner = (uint32_t)h->inner;
  r->width = (uint32_t)h->width;
  r->state = TW_ITA_START;
}

static inline void tw_ita_wait(int32_t number) {
  while (!(tw_ita(number)->state & TW_ITA_DONE)) __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

/* This core's part of some bytes, which are multiples of 64. Loads first: none waits for the one before. */
static inline void tw_copy_part(int8_t *to, const int8_t *from, int32_t bytes) {
  const tw_share share = tw_share_of(bytes / 32);
  const uint32_t *word = (const uint32_t *)(const void *)from + 8 * share.first;
  uint32_t *place = (uint32_t *)(void *)to + 8 * share.first;
  for (int32_t left = share.end - share.first; left > 0; left--, word += 8, place += 8) {
    const uint32_t a = word[0], b = word[1], c = word[2], d = word[3], e = word[4], f = word[5], g = word[6], h = word[7];
    place[0] = a;
    place[1] = b;
    place[2] = c;
    place[3] = d;
    place[4] = e;
    place[5] = f;
    place[6] = g;
    place[7] = h;
  }
}

#endif
