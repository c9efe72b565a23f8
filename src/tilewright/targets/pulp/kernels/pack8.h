/* Matrices of bytes, row by row and contiguous along the sum, from matrices that are stored otherwise. */
#ifndef TW_PACK8_H
#define TW_PACK8_H

#include "tw.h"
#include "xpulp.h"

/* Which bytes of two words: the first two of both by turns, or the last two; the first two of each, or the last two. */
#define TW_ZIP_LOW 0x05010400u
#define TW_ZIP_HIGH 0x07030602u
#define TW_ZIP_FRONT 0x05040100u
#define TW_ZIP_REAR 0x07060302u

/* Four rows of four bytes become four columns: to[i] holds byte i of each of the four words. */
static inline void tw_transpose_4x4(const uint32_t from[4], uint32_t to[4]) {
  const uint32_t ab = tw_x_shuffle2(from[0], from[1], TW_ZIP_LOW), cd = tw_x_shuffle2(from[2], from[3], TW_ZIP_LOW);
  const uint32_t AB = tw_x_shuffle2(from[0], from[1], TW_ZIP_HIGH), CD = tw_x_shuffle2(from[2], from[3], TW_ZIP_HIGH);
  to[0] = tw_x_shuffle2(ab, cd, TW_ZIP_FRONT);
  to[1] = tw_x_shuffle2(ab, cd, TW_ZIP_REAR);
  to[2] = tw_x_shuffle2(AB, CD, TW_ZIP_FRONT);
  to[3] = tw_x_shuffle2(AB, CD, TW_ZIP_REAR);
}

/* Four neighbouring rows of the result: byte k of row i is from[k * step + i]. */
static inline void tw_pack_four(const uint8_t *from, int32_t step, int32_t length, uint8_t *to, int32_t pitch) {
  int32_t k = 0;
  for (; k + 4 <= length; k += 4, from += 4 * step, to += 4) {
    const uint32_t in[4] = {tw_x_load(from), tw_x_load(from + step), tw_x_load(from + 2 * step),
                            tw_x_load(from + 3 * step)};
    uint32_t out[4];
    tw_transpose_4x4(in, out);
    for (int i = 0; i < 4; i++) tw_x_store(to + i * pitch, out[i]);
  }
  for (; k < length; k++, from += step, to++) {
    for (int i = 0; i < 4; i++) to[i * pitch] = from[i];
  }
}

/* One row of the result, stored in any way, filled up with zeros. */
static inline void tw_pack_one(const uint8_t *from, int32_t step, int32_t length, uint8_t *to, int32_t pitch) {
  int32_t k = 0;
  if (step == 1) {
    for (; k + 4 <= length; k += 4) tw_x_store(to + k, tw_x_load(from + k));
  }
  for (; k < length; k++) to[k] = from[k * step];
  for (; k < pitch; k++) to[k] = 0;
}

#endif
