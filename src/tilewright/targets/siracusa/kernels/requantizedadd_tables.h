#ifndef TW_REQUANTIZEDADD_TABLES_H
#define TW_REQUANTIZEDADD_TABLES_H

#include "binary.h"

/* out[first[a] + second[b]], broadcast: entries are for the bytes from the smallest on, and for the sums from 0 on. */
typedef struct {
  tw_binary_params loops;
  uint8_t first[256];
  uint8_t second[256];
  uint8_t out[512];
} tw_requantizedadd_tables_params;

#endif
