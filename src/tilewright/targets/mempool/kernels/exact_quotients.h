/* Divisions by the same number, without the divider that four cores share. */
#ifndef TW_EXACT_QUOTIENTS_H
#define TW_EXACT_QUOTIENTS_H

#include "byte_words.h"

typedef struct {
  uint32_t by;
  uint32_t reciprocal; /* of 2^32, rounded down; at most 2^32 - 1 */
} tw_divisor;

static inline tw_divisor tw_divisor_of(uint32_t by) {
  const tw_divisor divisor = {by, 0xffffffffu / by};
  return divisor;
}

/* Four quotients. The product with the reciprocal is the quotient or one less: the rest tells. */
static inline void tw_divide_lanes(uint32_t *n, tw_divisor divisor) {
  uint32_t quotient[4], rest[4];
  TW_EACH_LANE(i) quotient[i] = (uint32_t)((uint64_t)n[i] * divisor.reciprocal >> 32);
  TW_EACH_LANE(i) rest[i] = quotient[i] * divisor.by;
  TW_EACH_LANE(i) rest[i] = n[i] - rest[i];
  TW_EACH_LANE(i) n[i] = quotient[i] + (rest[i] >= divisor.by);
}

/* The same of signed ones, towards zero. */
static inline void tw_divide_signed_lanes(int32_t *n, tw_divisor divisor) {
  uint32_t sign[4], magnitude[4];
  TW_EACH_LANE(i) sign[i] = (uint32_t)(n[i] >> 31);
  TW_EACH_LANE(i) magnitude[i] = ((uint32_t)n[i] ^ sign[i]) - sign[i];
  tw_divide_lanes(magnitude, divisor);
  TW_EACH_LANE(i) n[i] = (int32_t)((magnitude[i] ^ sign[i]) - sign[i]);
}

#endif
