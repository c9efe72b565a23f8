#ifndef TW_ITA_ATTEND_H
#define TW_ITA_ATTEND_H

#include <stdint.h>

/* Matrices in tiles of 64 x 64; sizes count tiles. */
typedef struct {
  int32_t batch, heads;
  int32_t queries, keys, width; /* of a head */
  int32_t layer[10]; /* registers that all jobs share, as tw_ita_layer has them */
} tw_ita_attend_params;

#endif
