/* What follows where bytes are not the last results: they are multiplied and summed once more, with what is added. 32 bits
 * hold the sum, 16 bits what is left of it, and no sum is a tie. */
#ifndef TW_THEN_H
#define TW_THEN_H

#include "requant.h"

typedef struct {
  tw_requant requant;
  int32_t factor; /* of what is added */
} tw_then;

#endif
