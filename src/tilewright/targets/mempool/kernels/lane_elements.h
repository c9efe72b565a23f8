/* Elements between two bounds, bytes four at a time; all cores together. Needs TW_X, which is TW_Y too. */
#ifndef TW_LANE_ELEMENTS_H
#define TW_LANE_ELEMENTS_H

#include "byte_words.h"

static inline uint32_t tw_bounded(uint32_t word, uint32_t low, uint32_t high) {
  const int32_t x = (int32_t)word, least = (int32_t)low, most = (int32_t)high;
  if (sizeof(TW_X) == 4) return (uint32_t)tw_x_min(tw_x_max(x, least), most);
  return (uint32_t)(TW_IS_SIGNED(TW_X) ? tw_x_min4(tw_x_max4(x, least), most) : tw_x_minu4(tw_x_maxu4(x, least), most));
}

static inline void tw_bound(const TW_X *x, TW_X low, TW_X high, TW_Y *y, int32_t count) {
  const int32_t each = 4 / (int32_t)sizeof(TW_X);
  const tw_share mine = tw_share_in_blocks(count, 4);
  count = mine.end - mine.first, x += mine.first, y += mine.first;
  if (count > 0 && tw_begins_word(x) && tw_begins_word(y)) {
    const uint32_t least = each == 1 ? (uint32_t)low : TW_EVERY_LANE * (uint8_t)low;
    const uint32_t most = each == 1 ? (uint32_t)high : TW_EVERY_LANE * (uint8_t)high;
    const uint32_t *from = (const uint32_t *)(const void *)x;
    uint32_t *to = (uint32_t *)(void *)y;
    const int32_t done = count & ~(each - 1);
    int32_t words = done / each;
    for (; words >= 4; words -= 4, from += 4, to += 4) {
      const uint32_t w0 = from[0], w1 = from[1], w2 = from[2], w3 = from[3];
      to[0] = tw_bounded(w0, least, most), to[1] = tw_bounded(w1, least, most);
      to[2] = tw_bounded(w2, least, most), to[3] = tw_bounded(w3, least, most);
    }
    for (; words > 0; words--) *to++ = tw_bounded(*from++, least, most);
    x += done, y += done, count -= done;
  }
  for (; count > 0; count--, x++) {
    const TW_X raised = *x < low ? low : *x;
    *y++ = raised > high ? high : raised;
  }
}

#endif
