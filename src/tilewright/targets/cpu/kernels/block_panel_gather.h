#ifndef TW_BLOCK_PANEL_GATHER_H
#define TW_BLOCK_PANEL_GATHER_H

#include "tw.h"

/* Panels of `panel` rows in blocks of a format, `length` rows in all -> y[count, inner]. */
typedef struct {
  int32_t count;
  int32_t inner;
  int32_t length;
  int32_t panel_bytes;
  int32_t panel;
  int32_t format;
  int32_t scale_bytes; /* of a panel */
  int32_t bits;        /* of a level */
  int32_t is_apart;    /* whether the four bytes of a row in a piece lie apart */
  int32_t zero;        /* the level that stands for 0 */
} tw_block_panel_gather_params;

#endif
