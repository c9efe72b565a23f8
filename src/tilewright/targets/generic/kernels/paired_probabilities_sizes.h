#ifndef TW_PAIRED_PROBABILITIES_SIZES_H
#define TW_PAIRED_PROBABILITIES_SIZES_H

#include "paired_probabilities.h"

/* A matrix of classes by classes, and a vector. */
static inline int64_t tw_paired_probabilities_scratch(const tw_paired_probabilities_params *p) {
  return 4 * (int64_t)p->classes * (p->classes + 1);
}

#endif
