/* What attention works on at a time, and the bytes of working memory that it needs for it. */
#ifndef TW_ATTENTION_SIZES_H
#define TW_ATTENTION_SIZES_H

#include "attention_rows.h"

#define TW_ROWS 4
#define TW_COLUMNS 32

/* Keys in a row of the panel: whole blocks. */
static inline int32_t tw_panel_keys(int32_t keys) { return (keys + TW_COLUMNS - 1) / TW_COLUMNS * TW_COLUMNS; }

/* Whether so many queries meet the same keys that storing them column by column is worth it. */
static inline int tw_needs_panel(const tw_attention_rows *rows) { return rows->queries * rows->repeat >= 2 * TW_ROWS; }

/* Elements of the panel. */
static inline int64_t tw_panel_elements(const tw_attention_rows *rows) {
  return tw_needs_panel(rows) ? (int64_t)tw_panel_keys(rows->keys) * rows->length : 0;
}

#endif
