/* y = table[x - lowest] of bytes, one table for all; all cores together. A core with many elements copies the table into its
 * own tile, as else all cores would want the same few banks. */
#include "lookup.h"

#ifndef TW_NAME
#define TW_NAME tw_lookup_local_i8
#define TW_X int8_t
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

#include "byte_words.h"

#define TW_ENTRIES 256
#define TW_MANY 128 /* elements that are worth a copy */

static inline uint32_t four_entries(const uint8_t *table, uint32_t places) {
  return tw_four_bytes(tw_x_byte_at(table, tw_x_ubyte(places, 0)), tw_x_byte_at(table, tw_x_ubyte(places, 1)),
                       tw_x_byte_at(table, tw_x_ubyte(places, 2)), tw_x_byte_at(table, tw_x_ubyte(places, 3)));
}

/* Entries for elements from the smallest of their type on. */
static void look_up(const uint8_t *table, const TW_X *x, TW_Y *y, int32_t count) {
  const uint32_t flip = TW_IS_SIGNED(TW_X) ? TW_EVERY_SIGN : 0;
  if (tw_begins_word(x) && tw_begins_word(y)) {
    const uint32_t *from = (const uint32_t *)(const void *)x;
    uint32_t *to = (uint32_t *)(void *)y;
    const int32_t words = count >> 2;
    int32_t left_over = words;
    for (; left_over >= 2; left_over -= 2, from += 2, to += 2) {
      const uint32_t first = from[0] ^ flip, second = from[1] ^ flip;
      to[0] = four_entries(table, first);
      to[1] = four_entries(table, second);
    }
    if (left_over) *to = four_entries(table, *from ^ flip);
    x += 4 * words, y += 4 * words, count &= 3;
  }
  for (; count > 0; count--) *y++ = (TW_Y)table[(uint8_t)(*x++ ^ (TW_X)flip)];
}

void TW_NAME(const tw_lookup_params *params, const TW_X *x, const TW_TABLE *table, TW_Y *y) {
  const tw_share mine = tw_share_in_blocks(params->outer * params->inner, 4);
  const int32_t count = mine.end - mine.first;
  uint32_t kept[TW_ENTRIES / 4];
  const uint8_t *entries = (const uint8_t *)table;
  if (count <= 0) return;
  if (count >= TW_MANY && tw_begins_word(table)) {
    const uint32_t *const words = (const uint32_t *)(const void *)table;
    for (int32_t i = 0; i < TW_ENTRIES / 4; i += 4) {
      const uint32_t w0 = words[i], w1 = words[i + 1], w2 = words[i + 2], w3 = words[i + 3];
      kept[i] = w0, kept[i + 1] = w1, kept[i + 2] = w2, kept[i + 3] = w3;
    }
    entries = (const uint8_t *)kept;
  }
  look_up(entries, x + mine.first, y + mine.first, count);
}
