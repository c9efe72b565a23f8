#ifndef TW_QLINEARREDUCEMEAN_H
#define TW_QLINEARREDUCEMEAN_H

#include "reduce.h"
#include "requant.h"

typedef struct {
  tw_reduce_params loops;
  int32_t x_zero;
  int32_t mul;
  tw_requant requant;
} tw_qlinearreducemean_params;

#endif
