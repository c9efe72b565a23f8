#ifndef TW_QLINEARREDUCEMEAN_LAST_H
#define TW_QLINEARREDUCEMEAN_LAST_H

#include "requant.h"

/* x[outer][rows][columns]; the rows are added up. */
typedef struct {
  int32_t outer, rows, columns;
  int32_t x_zero, mul;
  tw_requant requant;
} tw_qlinearreducemean_last_params;

#endif
