/* Parameters of kernels that add two tensors by N-EUREKA. */
#ifndef TW_NEUREKA_SUM_H
#define TW_NEUREKA_SUM_H

#include "neureka.h"

typedef struct {
  int32_t count;                           /* elements */
  int32_t near_mask;                       /* of taps, where rows are as far apart as the tensors */
  int32_t registers[TW_NEUREKA_REGISTERS]; /* of a job, but for where its rows lie and how long they are */
} tw_neureka_sum_params;

#endif
