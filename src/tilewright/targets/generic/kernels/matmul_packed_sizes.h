/* Working memory of products with packed weights. */
#ifndef TW_MATMUL_PACKED_SIZES_H
#define TW_MATMUL_PACKED_SIZES_H

#include "matmul_packed.h"

/* A row of weights in 16 bits. */
static inline int64_t tw_matmul_packed_scratch(const tw_matmul_packed_params *p) { return 2 * (int64_t)p->inner; }

#endif
