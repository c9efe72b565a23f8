#ifndef TW_ITA_LINEAR_H
#define TW_ITA_LINEAR_H

#include <stdint.h>

/* Matrices in tiles of 64 x 64; sizes count tiles. */
typedef struct {
  int32_t batch;
  int32_t rows, columns, inner;
  int32_t turned; /* the result is stored transposed */
  int32_t layer[10]; /* registers that all jobs share, as tw_ita_layer has them */
} tw_ita_linear_params;

#endif
