#ifndef TW_INTEGERDIV_H
#define TW_INTEGERDIV_H

#include "binary.h"

/* factor * a / (eta * b + eps), broadcast. */
typedef struct {
  tw_binary_params loops;
  int64_t factor;
  int64_t eta;
  int64_t eps;
} tw_integerdiv_params;

#endif
