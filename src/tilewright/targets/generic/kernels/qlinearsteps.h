#ifndef TW_QLINEARSTEPS_H
#define TW_QLINEARSTEPS_H

#include <stdint.h>

/* The table has a byte for every 2^bits numbers from the lowest on. */
typedef struct {
  int32_t count;
  int32_t bits;
} tw_qlinearsteps_params;

#endif
