/* Parameters of kernels of depthwise windows that are larger than N-EUREKA's: each part of 3x3 taps, of each group of
 * channels, is a job, and the cores add up the totals of parts. */
#ifndef TW_NEUREKA_PARTS_H
#define TW_NEUREKA_PARTS_H

#include "neureka_gathered.h"

typedef struct {
  int32_t groups, channels; /* of a group; the last may have fewer, and has the second job's registers */
  int32_t rows, columns;    /* of parts in a window */
  int32_t x_row, x_column;  /* bytes from part to part of the image */
  int32_t w_part, y_part;   /* bytes from part to part */
  int32_t bias_row;         /* bytes from the bias of the first part to that of the others */
  int32_t scale_bytes;      /* of a channel */
} tw_neureka_parts;

typedef struct {
  tw_neureka_finished_params finished;
  tw_neureka_gather gather;
  tw_neureka_parts parts;
} tw_neureka_parts_params;

#endif
