/* Sums of four neighbouring columns of bytes. */
#ifndef TW_COLUMN_SUMS_H
#define TW_COLUMN_SUMS_H

#include "xpulp.h"

typedef struct {
  int32_t sum[4];
} state;

static inline state start(void) { return (state){{0, 0, 0, 0}}; }

/* Products with a one in one place and zeros in the others pick a byte and add it. */
static inline int32_t add_byte(int32_t sum, uint32_t word, int lane) {
  const int is_signed = (TW_X)-1 < 0;
  return is_signed ? tw_x_sdotsp4(sum, word, 1u << (8 * lane)) : tw_x_sdotup4(sum, word, 1u << (8 * lane));
}

static inline state with(state total, uint32_t word) {
  for (int i = 0; i < 4; i++) total.sum[i] = add_byte(total.sum[i], word, i);
  return total;
}

#endif
