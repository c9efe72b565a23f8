#ifndef TW_QLINEARMUL_HIGH_H
#define TW_QLINEARMUL_HIGH_H

#include "binary.h"
#include "high_word.h"

/* out((a - a_zero) * (b - b_zero)), broadcast. */
typedef struct {
  tw_binary_params loops;
  tw_high_word out;
  int32_t a_zero;
  int32_t b_zero;
} tw_qlinearmul_high_params;

#endif
