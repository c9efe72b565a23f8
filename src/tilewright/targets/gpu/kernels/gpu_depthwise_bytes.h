/* The usual window of bytes, for gpu_depthwise.c: four taps of a channel are multiplied at once. */
#ifndef TW_GPU_DEPTHWISE_BYTES_H
#define TW_GPU_DEPTHWISE_BYTES_H

#include "gpu_async.h"
#include "gpu_words.h"

enum { TW_TAPS = 9, TW_TAP_WORDS = 3 /* of a channel: the last word has one tap */ };

TW_GPU uint32_t tw_bytes_of_two(uint32_t a, uint32_t b, uint32_t which) {
  uint32_t found;
  __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(found) : "r"(a), "r"(b), "r"(which));
  return found;
}

/* Four taps of four channels -> four channels of four taps. */
TW_GPU void tw_turn_words(uint32_t *by_channel, const uint32_t *by_tap) {
  const uint32_t low_01 = tw_bytes_of_two(by_tap[0], by_tap[1], 0x5140);
  const uint32_t low_23 = tw_bytes_of_two(by_tap[2], by_tap[3], 0x5140);
  const uint32_t high_01 = tw_bytes_of_two(by_tap[0], by_tap[1], 0x7362);
  const uint32_t high_23 = tw_bytes_of_two(by_tap[2], by_tap[3], 0x7362);
  by_channel[0] = tw_bytes_of_two(low_01, low_23, 0x5410);
  by_channel[1] = tw_bytes_of_two(low_01, low_23, 0x7632);
  by_channel[2] = tw_bytes_of_two(high_01, high_23, 0x5410);
  by_channel[3] = tw_bytes_of_two(high_01, high_23, 0x7632);
}

/* What four channels multiply with: two words of four taps, and one with the last tap in its channel's byte. */
typedef struct {
  uint32_t at[TW_TAP_WORDS][4];
} tw_tap_words;

TW_GPU void tw_read_tap_words(tw_tap_words *words, const TW_W *w, int32_t tap_step) {
  uint32_t by_tap[TW_TAPS];
  TW_UNROLL for (int32_t i = 0; i < TW_TAPS; i++) by_tap[i] = *(const tw_word *)(w + i * tap_step);
  tw_turn_words(words->at[0], by_tap);
  tw_turn_words(words->at[1], by_tap + 4);
  TW_UNROLL for (int32_t c = 0; c < 4; c++) words->at[2][c] = by_tap[8] & 255u << 8 * c;
}

/* Totals of four channels, with the pixels of their window; a zero point counts as any other number. */
TW_GPU void tw_add_words(uint32_t *total, const tw_tap_words *words, const uint32_t *pixels) {
  uint32_t x[2][4];
  tw_turn_words(x[0], pixels);
  tw_turn_words(x[1], pixels + 4);
  TW_UNROLL for (int32_t c = 0; c < 4; c++) {
    total[c] = tw_four_products(total[c], x[0][c], words->at[0][c]);
    total[c] = tw_four_products(total[c], x[1][c], words->at[1][c]);
    total[c] = tw_four_products(total[c], pixels[8], words->at[2][c]);
  }
}

#endif
