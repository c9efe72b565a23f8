#ifndef TW_PAIRED_PROBABILITIES_H
#define TW_PAIRED_PROBABILITIES_H

#include "tw.h"

/* x[samples, classes * (classes - 1) / 2] -> y[samples, classes]. */
typedef struct {
  int32_t samples;
  int32_t classes;
} tw_paired_probabilities_params;

#endif
