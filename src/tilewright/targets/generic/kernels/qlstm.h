/* Quantised LSTM and GRU cells: int8 outputs, an int16 memory with cell_bits behind the point, gates in 16 bits. */
#ifndef TW_QLSTM_H
#define TW_QLSTM_H

#include "requant.h"
#include "tw.h"

typedef struct {
  int32_t steps;
  int32_t batch;
  int32_t hidden;
  int32_t reverse;
  int32_t coupled; /* the forget gate is 1 - the input gate */
  int32_t x_up; /* totals are shifted to the left, multiplied, and shifted to the right */
  int32_t x_down;
  int32_t r_up;
  int32_t r_down;
  int32_t cell_bits;
  int32_t x_factors; /* how many values mx has: 1, or one for each gate of each unit */
  int32_t r_factors;
  tw_scaling out; /* from the product of two gates to an output */
} tw_qlstm_params;

#endif
