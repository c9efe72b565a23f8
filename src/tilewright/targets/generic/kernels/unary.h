#ifndef TW_UNARY_H
#define TW_UNARY_H

#include <stdint.h>

/* y[i] = f(x[i]) for i below count; y may be x. */
typedef struct {
  int32_t count;
} tw_unary_params;

#endif
