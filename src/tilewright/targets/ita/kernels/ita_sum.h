#ifndef TW_ITA_SUM_H
#define TW_ITA_SUM_H

#include <stdint.h>

/* Matrices in tiles of 64 x 64. */
typedef struct {
  int32_t batch;
  int32_t tiles; /* of a matrix */
  int32_t layer[10]; /* registers that all jobs share, as tw_ita_layer has them */
} tw_ita_sum_params;

#endif
