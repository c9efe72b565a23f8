/* Factors of a row: for each tap, as many as there are channels. */
#ifndef TW_TAP_PARTS_H
#define TW_TAP_PARTS_H

#include <stdint.h>

typedef struct {
  int32_t taps, channels;
  const int32_t *at; /* where a tap sees the plane of the first channel */
} tw_tap_parts;

#endif
