/* Rows of bytes whose shares are halved once for each 32 of distance from the largest element. Needs TW_X and TW_Y. */
#ifndef TW_HALVING_ROWS_H
#define TW_HALVING_ROWS_H

#include "largest_byte.h"
#include "own_rows.h"
#include "requant.h"

#define TW_HALVINGS 9 /* bytes are at most 255 apart: 0 to 8 */

/* (distance + 16) >> 5, of four elements. No lane reaches the next one: a distance is at most 255. */
static inline uint32_t tw_four_halvings(uint32_t largest, uint32_t word) {
  const uint32_t distance = (uint32_t)tw_x_sub4((int32_t)largest, (int32_t)word);
  return (((distance >> 4 & 0x0f0f0f0fu) + TW_EVERY_LANE) >> 1) & 0x0f0f0f0fu;
}

static inline int32_t tw_halvings_of(int32_t largest, int32_t x) { return (largest - x + 16) >> 5; }

static int32_t tw_sum_of_halves(int32_t largest, const TW_X *x, int32_t length) {
  const uint32_t all = TW_EVERY_LANE * (uint8_t)largest;
  int32_t total = 0;
  if (tw_begins_word(x)) {
    for (; length >= 4; length -= 4, x += 4) {
      const uint32_t times = tw_four_halvings(all, *(const uint32_t *)(const void *)x);
      total += (256 >> tw_x_ubyte(times, 0)) + (256 >> tw_x_ubyte(times, 1));
      total += (256 >> tw_x_ubyte(times, 2)) + (256 >> tw_x_ubyte(times, 3));
    }
  }
  for (; length > 0; length--) total += 256 >> tw_halvings_of(largest, *x++);
  return total;
}

static void tw_halved_shares(int32_t share, const tw_scaling *out, uint8_t *result) {
  for (int32_t k = 0; k < TW_HALVINGS; k++) result[k] = (uint8_t)(out ? tw_scale(out, share >> k) : share >> k);
}

static void tw_write_shares(const uint8_t *result, int32_t largest, const TW_X *x, TW_Y *y, int32_t count) {
  const uint32_t all = TW_EVERY_LANE * (uint8_t)largest;
  if (tw_begins_word(x) && tw_begins_word(y)) {
    for (; count >= 4; count -= 4, x += 4, y += 4) {
      const uint32_t times = tw_four_halvings(all, *(const uint32_t *)(const void *)x);
      *(uint32_t *)(void *)y =
          tw_four_bytes(tw_x_byte_at(result, tw_x_ubyte(times, 0)), tw_x_byte_at(result, tw_x_ubyte(times, 1)),
                        tw_x_byte_at(result, tw_x_ubyte(times, 2)), tw_x_byte_at(result, tw_x_ubyte(times, 3)));
    }
  }
  for (; count > 0; count--) *y++ = (TW_Y)result[tw_halvings_of(largest, *x++)];
}

#endif
