#ifndef TW_QLINEARFUNCTION_H
#define TW_QLINEARFUNCTION_H

#include "requant.h"

/* The table has a value for every 2^bits-th x from the lowest on, and one more behind the last x. */
typedef struct {
  int32_t count;
  int32_t bits;
  tw_requant requant;
} tw_qlinearfunction_params;

#endif
