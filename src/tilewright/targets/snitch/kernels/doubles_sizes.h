/* Working memory of kernels that compute bytes as doubles. */
#ifndef TW_DOUBLES_SIZES_H
#define TW_DOUBLES_SIZES_H

#include "qlinearrownorm.h"
#include "requantizedadd.h"
#include "requantshift.h"

#define TW_DOUBLES_BLOCK 8 /* elements that go side by side */
#define TW_DOUBLES_RUN 128 /* elements that a core takes at a time */

/* Of one core: elements that are at work and two blocks of results. Cores begin in different banks. */
static inline int32_t tw_own_doubles(int32_t length) { return length + 2 * TW_DOUBLES_BLOCK + 1; }

/* `shared` factors and as many summands; `length` elements of each core. */
static inline int64_t tw_doubles_bytes(int32_t shared, int32_t length, int32_t cores) {
  return 8 * (2 * (int64_t)shared + (int64_t)cores * tw_own_doubles(length));
}

static inline int64_t tw_qlinearrownorm_doubles_scratch(const tw_qlinearrownorm_params *p, int32_t cores) {
  return tw_doubles_bytes(p->length, p->length, cores);
}

static inline int64_t tw_requantshift_doubles_scratch(const tw_requantshift_params *p, int32_t cores) {
  return tw_doubles_bytes(p->requant.channels, TW_DOUBLES_RUN, cores);
}

/* Values that the sum of both summands may have. */
static inline int32_t tw_sum_values(const tw_requantizedadd_params *p) {
  return p->first.requant.high - p->first.requant.low + p->second.requant.high - p->second.requant.low + 1;
}

/* What every byte of either operand becomes, and every sum of both. */
static inline int64_t tw_requantizedadd_tables_scratch(const tw_requantizedadd_params *p) {
  return 2 * 256 + (int64_t)tw_sum_values(p);
}

#endif
