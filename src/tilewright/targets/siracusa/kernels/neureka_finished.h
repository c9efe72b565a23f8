/* What kernels know that finish what N-EUREKA has left in the working memory: totals of all filters for each pixel, or
 * results of more pixels than are wanted. */
#ifndef TW_NEUREKA_FINISHED_H
#define TW_NEUREKA_FINISHED_H

#include "neureka.h"
#include "requant.h"

typedef struct {
  tw_neureka_params start;
  int32_t images, rows, columns, filters;               /* of the result; rows of one image */
  int32_t source_image, source_row, source_pixel;       /* from one to the next in the working memory, in elements */
  int32_t over_bottom, over_right;                      /* whether the last rows and columns have biases of their own */
  int32_t totals;                                       /* 0: results already, which are only copied */
  int32_t limit;                                        /* of totals with their bias, without their signs */
  int32_t requantised;
  tw_requant requant;
} tw_neureka_finished_params;

#endif
