/* Cells of recurrent layers: x[steps, batch, gates * hidden] is what a layer makes of its inputs, r[gates * hidden,
 * hidden] what the state is multiplied by. */
#ifndef TW_RECURRENT_H
#define TW_RECURRENT_H

#include "tw.h"

/* A function of a gate: its number is its place in the enumeration of gate_functions.h. */
typedef struct {
  int32_t kind;
  float alpha;
  float beta;
} tw_gate_function;

typedef struct {
  int32_t steps;
  int32_t batch;
  int32_t hidden;
  int32_t reverse; /* 1: from the last step to the first */
  float clip;      /* of sums, before functions; 0: none */
  tw_gate_function f;
  tw_gate_function g;
  tw_gate_function h;
  int32_t coupled; /* LSTM: the forget gate is 1 - the input gate */
  int32_t dynamic; /* LSTM: the state is rounded to 256 steps of its range before it is multiplied */
  int32_t linear;  /* GRU: products with the state are reset, and not the state */
} tw_recurrent_params;

#endif
