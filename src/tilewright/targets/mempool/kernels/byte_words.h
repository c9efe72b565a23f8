/* Words of four bytes, as packed instructions take them. Cores load and store words only where these begin. */
#ifndef TW_BYTE_WORDS_H
#define TW_BYTE_WORDS_H

#include "cluster.h"
#include "tw.h"
#include "xpulp.h"

#define TW_EVERY_LANE 0x01010101u
#define TW_EVERY_SIGN 0x80808080u
#define TW_IS_SIGNED(type) ((type)-1 < 0)
/* A byte of a word as an element of a type. */
#define TW_LANE(type, word, lane) (TW_IS_SIGNED(type) ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))
/* Each step is done for all lanes before the next, as products are not there at once. */
#define TW_EACH_LANE(i) for (int i = 0; i < 4; i++)
#define TW_TAKE_LANES(type, word, to) TW_EACH_LANE(taken_) (to)[taken_] = TW_LANE(type, word, taken_)

static inline int tw_begins_word(const void *place) { return ((uintptr_t)place & 3) == 0; }

/* Four bytes as a word, the first in the lowest place. */
static inline uint32_t tw_four_bytes(int32_t b0, int32_t b1, int32_t b2, int32_t b3) {
  return tw_x_insert(tw_x_insert(tw_x_insert((uint32_t)b0, b1, 1), b2, 2), b3, 3);
}

/* Up to four bytes that lie `step` apart, those that are missing zeros; `is_word` where it is a whole word. */
static inline uint32_t tw_bytes_at(const uint8_t *from, int32_t step, int32_t count, int is_word) {
  if (is_word) return *(const uint32_t *)(const void *)from;
  return tw_four_bytes(from[0], count > 1 ? from[step] : 0, count > 2 ? from[2 * step] : 0, count > 3 ? from[3 * step] : 0);
}

#endif
