#ifndef TW_ITA_HEAD_H
#define TW_ITA_HEAD_H

#include <stdint.h>

/* Matrices in tiles of 64 x 64; sizes count tiles. */
typedef struct {
  int32_t s, e, p;
  int32_t layer[10]; /* registers that all jobs share, as tw_ita_layer has them */
} tw_ita_head_params;

#endif
