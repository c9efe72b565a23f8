#ifndef TW_UNARY_H
#define TW_UNARY_H

#include <stdint.h>

/* y[i] = f(x[i]) for i below count; y may be x. What alpha and beta mean is up to f. */
typedef struct {
  int32_t count;
  float alpha;
  float beta;
} tw_unary_params;

#endif
