#ifndef TW_QLINEARROTATE_H
#define TW_QLINEARROTATE_H

#include "requant.h"
#include "rows_beside.h"

/* Rows of x beside rows of cosines and sines. The other element of a pair is half a row away or, if interleaved, its
 * neighbour. */
typedef struct {
  tw_rows_beside rows;
  int32_t length;
  int32_t interleaved;
  int32_t x_zero;
  int32_t mul;
  tw_requant requant;
} tw_qlinearrotate_params;

#endif
