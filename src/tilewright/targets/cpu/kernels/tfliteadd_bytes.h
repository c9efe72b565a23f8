#ifndef TW_TFLITEADD_BYTES_H
#define TW_TFLITEADD_BYTES_H

#include "tfliteadd.h"

/* Tensors of one shape: the loops of `sum` are one. */
typedef struct {
  int32_t count;
  tw_tfliteadd_params sum;
} tw_tfliteadd_bytes_params;

#endif
