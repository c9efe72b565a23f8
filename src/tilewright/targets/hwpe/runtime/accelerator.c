#include "accelerator.h"

#include "../kernels/npu_jobs.h"
#include "events.h"
#include "limits.h"
#include "units.h"

#define COMMIT (*(volatile uint32_t *)(TW_NPU + 0x00))
#define ACQUIRE (*(volatile int32_t *)(TW_NPU + 0x04))
#define STATUS (*(volatile uint32_t *)(TW_NPU + 0x0c))

#define EVENT_NPU (1u << 12)

static struct {
  uint32_t committed;
  uint32_t barrier_first;
} state TW_STATE;

void tw_accelerator_init(void) {
  state.committed = TW_ACCELERATOR_NONE;
  state.barrier_first = 0;
  tw_units_init();
}

void tw_accelerator_barrier_first(void) { state.barrier_first = 1; }

void tw_accelerator_meet(void) {
  if (!state.barrier_first) return;
  state.barrier_first = 0;
  tw_barrier_all();
}

uint32_t tw_accelerator_mark(void) { return tw_unit_mark() != 0 ? tw_unit_mark() : state.committed; }

/* Sleeps until a job ends; returns at once if one has ended since the last call. Callers check which. */
static void one_job(void) {
  tw_event_mask_set(EVENT_NPU);
  tw_event_wait();
  tw_event_mask_clear(EVENT_NPU);
}

void tw_accelerator_begin(void) {
  while (ACQUIRE < 0) one_job();
}

void tw_accelerator_commit(void) {
  tw_accelerator_meet();
  tw_unit_forget_last();
  TW_COMPILER_BARRIER();
  COMMIT = 0;
  state.committed++;
}

/* Status bits 0 and 8: whether contexts 0 and 1 have a waiting or running job. */
static inline int has_ended(uint32_t mark) {
  const uint32_t status = STATUS;
  return (int32_t)(state.committed - (status & 1) - (status >> 8 & 1) - mark) >= 0;
}

void tw_accelerator_wait(uint32_t mark) {
  if (tw_is_unit(mark)) {
    tw_unit_wait(mark);
    return;
  }
  while (!has_ended(mark)) one_job();
  TW_COMPILER_BARRIER();
}
