#ifndef TW_QLINEARROWNORM_H
#define TW_QLINEARROWNORM_H

#include "requant.h"

/* Rows of x are independent. The first `groups` of them have values of mul and add of their own, the next as many have
 * the same again; within a row each value is for `repeat` elements. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t groups;
  int32_t repeat;
  int32_t centred;  /* whether the mean is subtracted */
  int32_t x_zero;   /* the integer that stands for zero */
  int32_t fraction; /* fraction bits of epsilon, an even number */
  int32_t lift;     /* add is that many bits to the left */
  int64_t epsilon;
  tw_requant requant;
} tw_qlinearrownorm_params;

#endif
