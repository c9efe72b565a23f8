#ifndef TW_BESTBLOCK_H
#define TW_BESTBLOCK_H

#include "tw.h"

typedef struct {
  int32_t rows;
  int32_t count;
  int32_t block; /* words of each */
} tw_bestblock_params;

#endif
