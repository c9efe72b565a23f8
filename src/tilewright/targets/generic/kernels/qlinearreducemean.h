#ifndef TW_QLINEARREDUCEMEAN_H
#define TW_QLINEARREDUCEMEAN_H

#include "requant.h"
#include "tw.h"

/* A loop nest and how far each loop advances in x. */
typedef struct {
  int32_t rank;
  int32_t size[TW_MAX_RANK];
  int32_t stride[TW_MAX_RANK];
} tw_walk;

typedef struct {
  tw_walk kept;   /* one step per result */
  tw_walk summed; /* the elements of one result */
  int32_t results;
  int32_t x_zero;
  int32_t mul;
  tw_requant requant;
} tw_qlinearreducemean_params;

#endif
