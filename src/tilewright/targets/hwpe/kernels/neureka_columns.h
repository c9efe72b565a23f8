/* Parameters of kernels that finish a row of which several columns share a filter, each with a window of its own. */
#ifndef TW_NEUREKA_COLUMNS_H
#define TW_NEUREKA_COLUMNS_H

#include "neureka_finished.h"

/* The first `run` results are totals of the first window, the next those of the second; behind the last of the windows it
 * goes on with the first, `run` totals later. */
typedef struct {
  tw_neureka_finished_params finished;
  int32_t windows;
  int32_t run;
  int32_t window; /* totals from window to window in the working memory */
  int32_t words;  /* of the row, behind the bytes that N-EUREKA reads: the cores multiply them */
  int32_t read;   /* bytes that it reads */
} tw_neureka_columns_params;

#endif
