#ifndef TW_LOOKUP_H
#define TW_LOOKUP_H

#include <stdint.h>

/* x[outer][channels][inner]; the table has 256 entries per channel, the first for the value `lowest`. y may be x. */
typedef struct {
  int32_t outer;
  int32_t channels;
  int32_t inner;
  int32_t lowest;
} tw_lookup_params;

#endif
