#ifndef TW_IHARDSWISH_H
#define TW_IHARDSWISH_H

#include <stdint.h>

/* The constants 3, 6 and 1/6 in the scale of x. */
typedef struct {
  int32_t count;
  int32_t three;
  int32_t six;
  int32_t one_over_six;
} tw_ihardswish_params;

#endif
