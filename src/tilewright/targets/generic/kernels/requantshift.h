#ifndef TW_REQUANTSHIFT_H
#define TW_REQUANTSHIFT_H

#include "requant.h"

/* x[outer][channels][inner]; mul and add have one value per channel. y may be x. */
typedef struct {
  int32_t outer;
  int32_t inner;
  tw_requant requant;
} tw_requantshift_params;

#endif
