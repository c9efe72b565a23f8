/* Divisions by the same number, without the divider that four cores share. */
#ifndef TW_EXACT_QUOTIENTS_H
#define TW_EXACT_QUOTIENTS_H

#include "xpulp.h"

typedef struct {
  uint32_t by;
  uint32_t reciprocal; /* of 2^32, rounded down; at most 2^32 - 1 */
} tw_divisor;

static inline tw_divisor tw_divisor_of(uint32_t by) {
  const tw_divisor divisor = {by, 0xffffffffu / by};
  return divisor;
}

/* The product with the reciprocal is the quotient or one less: the rest tells. */
static inline uint32_t tw_quotient(uint32_t n, tw_divisor divisor) {
  const uint32_t quotient = (uint32_t)((uint64_t)n * divisor.reciprocal >> 32);
  return quotient + (n - quotient * divisor.by >= divisor.by);
}

/* Towards zero. */
static inline int32_t tw_signed_quotient(int32_t n, tw_divisor divisor) {
  const uint32_t sign = (uint32_t)(n >> 31);
  return (int32_t)((tw_quotient(((uint32_t)n ^ sign) - sign, divisor) ^ sign) - sign);
}

#endif
