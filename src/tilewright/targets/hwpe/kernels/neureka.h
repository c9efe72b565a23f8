/* What kernels of N-EUREKA know: one or two jobs for each image of a batch. */
#ifndef TW_NEUREKA_H
#define TW_NEUREKA_H

#include "npu_jobs.h"

#define TW_NEUREKA_REGISTERS 24

typedef struct {
  int32_t batch;
  int32_t jobs;           /* of an image */
  int32_t x_step, y_step; /* bytes from image to image */
  int32_t registers[48];  /* of each job; addresses from the first byte of an image, and of the constants */
} tw_neureka_params;

static inline void tw_neureka_job(const int32_t *job, uint32_t x, uint32_t w, uint32_t scale, uint32_t shifts,
                                  uint32_t bias, uint32_t y) {
  volatile uint32_t *const to = TW_NPU_REGISTERS;
  tw_accelerator_begin();
  to[0] = w;
  to[1] = x + (uint32_t)job[1];
  to[2] = y + (uint32_t)job[2];
  to[3] = scale;
  to[4] = shifts;
  to[5] = bias;
  for (int i = 6; i < TW_NEUREKA_REGISTERS; i += 6) {
    const int32_t a = job[i], b = job[i + 1], c = job[i + 2], d = job[i + 3], e = job[i + 4], f = job[i + 5];
    to[i] = (uint32_t)a;
    to[i + 1] = (uint32_t)b;
    to[i + 2] = (uint32_t)c;
    to[i + 3] = (uint32_t)d;
    to[i + 4] = (uint32_t)e;
    to[i + 5] = (uint32_t)f;
  }
  tw_accelerator_commit();
}

/* Hands all jobs to N-EUREKA. Weights count from the start of their memory; of L1 it looks at the low bits only, which
 * are those of the address all the same. Filters may have a shift each. */
static inline void tw_neureka_start_shifted(const tw_neureka_params *p, const void *x, const void *w, const void *scale,
                                            const void *bias, const uint8_t *shifts, void *y) {
  uint32_t from = (uint32_t)(uintptr_t)x, to = (uint32_t)(uintptr_t)y;
  for (int32_t image = 0; image < p->batch; image++) {
    for (int32_t job = 0; job < p->jobs; job++) {
      tw_neureka_job(p->registers + TW_NEUREKA_REGISTERS * job, from, (uint32_t)(uintptr_t)w - TW_WEIGHT_MEMORY,
                     (uint32_t)(uintptr_t)scale, (uint32_t)(uintptr_t)shifts, (uint32_t)(uintptr_t)bias, to);
    }
    from += (uint32_t)p->x_step;
    to += (uint32_t)p->y_step;
  }
}

static inline void tw_neureka_start(const tw_neureka_params *p, const void *x, const void *w, const void *scale,
                                    const void *bias, void *y) {
  tw_neureka_start_shifted(p, x, w, scale, bias, 0, y);
}

#endif
