#ifndef TW_QLINEARADD_BYTES_H
#define TW_QLINEARADD_BYTES_H

#include "byte_sum.h"

typedef struct {
  int32_t count;
  tw_byte_sum sum;
} tw_qlinearadd_bytes_params;

#endif
