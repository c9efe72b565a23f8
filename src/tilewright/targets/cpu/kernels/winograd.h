/* Convolutions of 3 x 3 taps in Winograd's form F(4x4, 3x3). */
#ifndef TW_WINOGRAD_H
#define TW_WINOGRAD_H

#include "activation.h"
#include "tw.h"

typedef struct {
  int32_t batch;
  int32_t in_h, in_w, out_h, out_w;
  int32_t pad_top, pad_left;
  int32_t in_channels, out_channels; /* a vector of them at the least */
  int32_t tiles;                     /* of 4 x 4 results that are computed at a time */
  int32_t packs;                     /* whether their pixels are copied before they are multiplied */
  tw_activation activation;
} tw_winograd_params;

#endif
