/* What convolutions on vectors of 16 bytes know beyond all others. Filters are in blocks, with a bias, factor and
 * exponent for each of them; zero points are in the bias. */
#ifndef TW_CONV_MVE_H
#define TW_CONV_MVE_H

#include "conv.h"

typedef struct {
  tw_conv_params conv;
  int32_t way;    /* how accumulators become results: tw_vector_way */
  int32_t strip;  /* pixels whose windows are gathered at a time; 0: all are multiplied where they are */
} tw_conv_mve_params;

#endif
