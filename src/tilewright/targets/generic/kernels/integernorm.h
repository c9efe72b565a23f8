#ifndef TW_INTEGERNORM_H
#define TW_INTEGERNORM_H

#include <stdint.h>

/* Rows of x are independent; weights have one value per column. */
typedef struct {
  int32_t rows;
  int32_t length;
  int32_t shift;
} tw_integernorm_params;

#endif
