/* What convolutions know whose filters are in pairs. */
#ifndef TW_CONV_PAIRS_H
#define TW_CONV_PAIRS_H

#include "conv.h"

typedef struct {
  tw_conv_params conv;
  int32_t way; /* TW_BY_... */
} tw_conv_pairs_params;

#endif
