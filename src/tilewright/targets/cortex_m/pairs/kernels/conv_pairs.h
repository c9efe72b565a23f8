/* Parameters of convolutions whose filters are in pairs. */
#ifndef TW_CONV_PAIRS_H
#define TW_CONV_PAIRS_H

#include "conv.h"

typedef struct {
  tw_conv_params conv; /* chunk: rows of results whose windows come from one band */
  int32_t way;         /* how accumulators become results: TW_BY_..., or TW_WINDOWS_... */
  int32_t image_last;  /* whether channels are the last axis of x, though the first of y */
} tw_conv_pairs_params;

#endif
