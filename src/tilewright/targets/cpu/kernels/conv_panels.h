/* Convolutions and products whose weights are panels. */
#ifndef TW_CONV_PANELS_H
#define TW_CONV_PANELS_H

#include "activation.h"
#include "tw.h"

typedef struct {
  int32_t batch, groups;
  int32_t in_h, in_w, out_h, out_w;
  int32_t stride_h, stride_w;
  int32_t in_channels, out_channels; /* of one group */
  int32_t inner;                     /* elements of a window */
  int32_t rows;                      /* of results that are computed at a time */
  int32_t packs;                     /* whether windows are copied before they are multiplied */
  int32_t padded;                    /* whether what they need is copied with its padding around it */
  int32_t pad_top, pad_left;
  int32_t band_h, band_w;    /* what they need, in pixels; without padding a row is as wide as the image's */
  int32_t parts, length;     /* of a window that lie in one piece each */
  const int32_t *part_at;    /* elements from the window's first to a part's first */
  tw_activation activation;
} tw_conv_panels_params;

#endif
