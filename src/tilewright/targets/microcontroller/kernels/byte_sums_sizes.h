/* Working memory of sums of bytes by tables. */
#ifndef TW_BYTE_SUMS_SIZES_H
#define TW_BYTE_SUMS_SIZES_H

#include "requantizedadd.h"
#include "tfliteadd.h"

#define TW_BYTES 256

/* For fewer sums than this, making the tables takes longer than they save. */
#define TW_WORTH_TABLES (2 * TW_BYTES)

static inline int32_t tw_sums_of(const tw_binary_params *loops) {
  int32_t length = 1;
  for (int32_t axis = 0; axis < loops->rank; axis++) length *= loops->size[axis];
  return length;
}

/* What becomes of every byte of either operand, as words. */
static inline int64_t tw_tfliteadd_bytes_scratch(const tw_tfliteadd_params *p) { return (void)p, 2 * TW_BYTES * 4; }

static inline int64_t tw_requantizedadd_bytes_scratch(const tw_requantizedadd_params *p) {
  return (void)p, 2 * TW_BYTES * 4;
}

#endif
