#ifndef TW_REQUANTIZEDADD_TABLES_H
#define TW_REQUANTIZEDADD_TABLES_H

#include "binary.h"

/* How many of the first two tables say of every byte no more than how far it is from the smallest. */
enum { TW_NONE_PLAIN, TW_SECOND_PLAIN, TW_BOTH_PLAIN };

/* out[first[a] + second[b]], broadcast: entries are for the bytes from the smallest on, and for the sums from 0 on. */
typedef struct {
  tw_binary_params loops;
  int32_t plain;
  uint8_t first[256];
  uint8_t second[256];
  uint8_t out[512];
} tw_requantizedadd_tables_params;

#endif
