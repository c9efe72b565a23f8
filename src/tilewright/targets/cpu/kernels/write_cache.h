/* Rows of floats into a cache of tokens. */
#ifndef TW_WRITE_CACHE_H
#define TW_WRITE_CACHE_H

#include "tw.h"

/* x and y are [token][element], or [block of tokens][element][token of the block]. */
typedef struct {
  int32_t held;   /* tokens that there is room for */
  int32_t rows;   /* new ones */
  int32_t length; /* elements of a row */
  int32_t panel;  /* tokens of a block, or 1 */
} tw_write_cache_params;

#endif
