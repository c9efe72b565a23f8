#ifndef TW_FUSEDATTENTION_H
#define TW_FUSEDATTENTION_H

#include "attention_rows.h"

typedef struct {
  tw_attention_rows rows;
  float scale;
} tw_fusedattention_params;

#endif
