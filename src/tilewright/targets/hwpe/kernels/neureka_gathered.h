/* Parameters of kernels that gather windows for N-EUREKA, which then are pixels with as many channels as a filter is long.
 *
 * For each column of results there is a strip in the working memory: what its windows see of every row of the image, row
 * by row. A window is then a run of bytes, and the next one begins some rows of the strip later. */
#ifndef TW_NEUREKA_GATHERED_H
#define TW_NEUREKA_GATHERED_H

#include "neureka_finished.h"

typedef struct {
  int32_t images;
  int32_t columns;       /* strips of an image */
  int32_t rows;          /* of a strip; some may lie outside the image, as `top` of the first do */
  int32_t run;           /* bytes of a row of a strip */
  int32_t step;          /* bytes from the first of a strip to that of the next, in a row of the image */
  int32_t height, width; /* of the image: rows, and bytes of a row */
  int32_t top, left;     /* rows and bytes before the image */
  int32_t fill;          /* what lies outside */
} tw_neureka_gather;

typedef struct {
  tw_neureka_params start;
  tw_neureka_gather gather;
} tw_neureka_gathered_params;

#endif
