#ifndef TW_TFLITEADD_TABLES_H
#define TW_TFLITEADD_TABLES_H

#include "binary.h"

/* `once`: a result is (first[a] + b * mul) >> shift, clipped to 0 and `top`, plus `low`. Otherwise tables hold four times what becomes of every byte, from the smallest on. With t = first[a] + second[b], a result is
 * (the high word of t * mul, less `less` if t is negative, + summand) >> shift, clipped to 0 and `top`, plus `low`. */
typedef struct {
  tw_binary_params loops;
  int32_t once;
  int32_t first[256];
  int32_t second[256];
  int32_t mul, less, summand, shift, top, low;
} tw_tfliteadd_tables_params;

#endif
