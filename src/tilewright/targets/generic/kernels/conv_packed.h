/* Parameters of convolutions with packed weights: a filter is a row of weights (packed.h). */
#ifndef TW_CONV_PACKED_H
#define TW_CONV_PACKED_H

#include "conv.h"
#include "packed.h"

typedef struct {
  tw_conv_params conv;
  int32_t row_bytes;
  int32_t bits, least; /* of a code, and what is added to it */
} tw_conv_packed_params;

#endif
