#ifndef TW_LIMITEDATTENTION_H
#define TW_LIMITEDATTENTION_H

#include "attention_rows.h"

/* 0 is no window, or no cap. */
typedef struct {
  tw_attention_rows rows;
  float scale;
  int32_t window;
  float cap;
} tw_limitedattention_params;

#endif
