/* Shares of each row of bytes; all cores together. A byte is at most 255 below its row's largest, so that tables hold
 * all exponentials, and what becomes of each share. */
#include "isoftmax.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_bytes_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

#include "cluster.h"
#include "int32.h"
#include "tw.h"
#include "xpulp.h"

#define TW_X_SIGNED ((TW_X)-1 < 0)
/* Of a reciprocal's fraction. Exponentials are below two to this power, and a row's largest one is the largest of all:
 * products with the reciprocal fit 32 bits. */
#define TW_SHARE_BITS 20

/* The exponential of minus `distance`. */
static uint32_t exponential(const tw_isoftmax_params *p, int32_t distance) {
  const int32_t z = tw_min(distance / p->ln2, 31);
  const int32_t shifted = tw_add32(tw_sub32(tw_mul32(z, p->ln2), distance), p->b);
  const int32_t value = tw_add32(tw_mul32(p->a, tw_mul32(shifted, shifted)), p->c);
  return (uint32_t)(value >> z);
}

static TW_COMPACT void set_tables(const tw_isoftmax_params *p, uint32_t *exponentials, TW_Y *results) {
  const tw_share share = tw_share_of(256);
  for (int32_t i = share.first; i < share.end; i++) {
    exponentials[i] = exponential(p, i);
    if (i <= p->top) results[i] = (TW_Y)(p->requantised ? tw_scale(&p->out, i) : i);
  }
  tw_barrier();
}

static int32_t largest_of(const TW_X *x, int32_t length) {
  int32_t largest = x[0];
  if (length >= 4) {
    int32_t four = (int32_t)tw_x_load(x);
    for (; length >= 4; length -= 4, x += 4) {
      const int32_t word = (int32_t)tw_x_load(x);
      four = TW_X_SIGNED ? tw_x_max4(four, word) : tw_x_maxu4(four, word);
    }
    for (int i = 0; i < 4; i++) {
      const uint32_t byte = (uint32_t)four >> (8 * i);
      largest = tw_x_max(largest, TW_X_SIGNED ? (int32_t)(int8_t)byte : (int32_t)(uint8_t)byte);
    }
  }
  for (; length > 0; length--) largest = tw_x_max(largest, *x++);
  return largest;
}

#define TW_X_BYTE(word, lane) (TW_X_SIGNED ? tw_x_byte(word, lane) : tw_x_ubyte(word, lane))

static uint32_t total_of(const uint32_t *at_largest, const TW_X *x, int32_t length) {
  uint32_t total = 0;
  for (; length >= 4; length -= 4, x += 4) {
    const uint32_t word = tw_x_load(x);
    total += at_largest[-TW_X_BYTE(word, 0)] + at_largest[-TW_X_BYTE(word, 1)];
    total += at_largest[-TW_X_BYTE(word, 2)] + at_largest[-TW_X_BYTE(word, 3)];
  }
  for (; length > 0; length--) total += at_largest[-(int32_t)*x++];
  return total;
}

/* e * top / total: by a fixed-point reciprocal of the row, which may be one too small. */
static inline uint32_t share_of(uint32_t e, uint32_t top, uint32_t total, uint32_t reciprocal) {
  const uint32_t share = e * reciprocal >> TW_SHARE_BITS;
  return share + (e * top - share * total >= total);
}

void TW_NAME(const tw_isoftmax_params *params, const TW_X *x, TW_Y *y, void *scratch) {
  const int32_t length = params->length;
  const uint32_t top = (uint32_t)params->top;
  uint32_t *const exponentials = scratch;
  TW_Y *const results = (TW_Y *)(void *)(exponentials + 256);
  set_tables(params, exponentials, results);
  const tw_share share = tw_share_of(params->rows);
  x += share.first * length;
  y += share.first * length;
  for (int32_t row = share.first; row < share.end; row++) {
    const uint32_t *const at_largest = exponentials + largest_of(x, length);
    const uint32_t total = total_of(at_largest, x, length), reciprocal = (top << TW_SHARE_BITS) / total;
    int32_t left = length;
    for (; left >= 4; left -= 4, x += 4, y += 4) {
      const uint32_t word = tw_x_load(x);
      const TW_Y y0 = results[share_of(at_largest[-TW_X_BYTE(word, 0)], top, total, reciprocal)];
      const TW_Y y1 = results[share_of(at_largest[-TW_X_BYTE(word, 1)], top, total, reciprocal)];
      const TW_Y y2 = results[share_of(at_largest[-TW_X_BYTE(word, 2)], top, total, reciprocal)];
      const TW_Y y3 = results[share_of(at_largest[-TW_X_BYTE(word, 3)], top, total, reciprocal)];
      tw_x_store(y, tw_x_pack4(y0, y1, y2, y3));
    }
    for (; left > 0; left--) *y++ = results[share_of(at_largest[-(int32_t)*x++], top, total, reciprocal)];
  }
}
