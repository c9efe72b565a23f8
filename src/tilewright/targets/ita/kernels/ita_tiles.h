#ifndef TW_ITA_TILES_H
#define TW_ITA_TILES_H

#include <stdint.h>

/* Matrices of bytes, row by row. */
typedef struct {
  int32_t batch;
  int32_t rows, columns;
  int32_t flips; /* rows have no sign */
} tw_ita_tiles_params;

#endif
