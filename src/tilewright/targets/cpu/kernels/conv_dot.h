/* More parameters of convolutions with packed weights. There are a bias, a factor and an exponent for each
 * filter of a block; zero points are in the bias. */
#ifndef TW_CONV_DOT_H
#define TW_CONV_DOT_H

#include "conv.h"
#include "then.h"

typedef struct {
  tw_conv_params conv;
  int32_t way;     /* tw_way */
  int32_t strip;   /* pixels whose windows are found at a time; rows of depthwise convolutions */
  int32_t pieces;  /* of a row of a window that lie apart: 1, or as many as it has taps */
  int32_t window;  /* bytes of a window that is gathered; 0: windows are read where they are */
  int32_t padded;  /* whether the image is copied first, with its padding */
  int32_t tiled;   /* bytes of windows that tiles are made of at a time; 0: without tiles */
  tw_then then;
} tw_conv_dot_params;

#endif
