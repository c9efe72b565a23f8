/* Working memory of products that are soon over. */
#ifndef TW_SMALL_MATMUL_SIZES_H
#define TW_SMALL_MATMUL_SIZES_H

#include "small_matmul_params.h"

/* Of tw_alike, on cores whose pointers have four bytes. */
#define TW_ALIKE_BYTES 60

/* What each core knows of its strips. */
static inline int64_t tw_gemm_uniform_requant_scratch(const tw_small_matmul_params *p, int32_t cores) {
  return (void)p, (int64_t)cores * TW_ALIKE_BYTES;
}

/* Four columns of a core. */
static inline int32_t tw_own_columns(const tw_small_matmul_params *p) { return 4 * p->inner; }

static inline int64_t tw_gemm_b_rowmajor_scratch(const tw_small_matmul_params *p, int32_t cores) {
  return (int64_t)cores * tw_own_columns(p);
}

#endif
