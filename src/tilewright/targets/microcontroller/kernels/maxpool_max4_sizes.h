/* Working memory of pools by the larger ones of four pairs of bytes. */
#ifndef TW_MAXPOOL_MAX4_SIZES_H
#define TW_MAXPOOL_MAX4_SIZES_H

#include "pool.h"
#include "tw.h"

/* A row of an image, in whole words. */
static inline int64_t tw_maxpool_max4_scratch(const tw_pool_params *p) { return ((int64_t)p->in_w + 3) & ~3; }

#endif
