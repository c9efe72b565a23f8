/* Attention over a cache: keys are [block of tokens][group][element][token of the block], values [token][group][element]. */
#ifndef TW_CACHED_ATTENTION_H
#define TW_CACHED_ATTENTION_H

#include "attention_rows.h"

#define TW_KEY_BLOCK 64 /* tokens whose keys lie side by side */

/* One of several parts of it. No window and no cap are 0. */
typedef struct {
  tw_attention_rows rows;
  float scale;
  int32_t window;
  float cap;
  int32_t part;
  int32_t parts;
} tw_cached_attention_params;

#endif
