#include "units.h"

#if TW_UNITS
#include "../kernels/unit_jobs.h"
#include "events.h"
#include "limits.h"
#include "accelerator.h"

#define COUNT_MASK ((1u << TW_UNIT_SHIFT) - 1)

/* Number of jobs committed to each unit, and the mark of the last job. */
static struct {
  uint32_t committed[TW_UNITS + 1];
  uint32_t last;
} state TW_STATE;

void tw_units_init(void) {
  for (int unit = 0; unit <= TW_UNITS; unit++) state.committed[unit] = 0;
  state.last = 0;
}

uint32_t tw_unit_mark(void) { return state.last; }

void tw_unit_forget_last(void) { state.last = 0; }

static inline int is_done(uint32_t unit) {
  const tw_unit *u = &tw_unit_table[unit];
  return (*(volatile uint32_t *)(uintptr_t)u->done & u->bits) != 0;
}

static inline void sleep_until(uint32_t lines) {
#ifdef TW_EVENT_LINES
  tw_event_mask_set(lines);
  tw_event_wait();
  tw_event_mask_clear(lines);
#else
  (void)lines;
#endif
}

/* Waits for the unit's only job: sleeps if the unit raises an event and cores can wait for one, polls otherwise. */
static void job_ended(uint32_t unit) {
  const uint32_t lines = tw_unit_table[unit].lines;
  while (!is_done(unit))
    if (lines) sleep_until(lines);
  TW_COMPILER_BARRIER();
}

void tw_unit_begin(uint32_t unit) {
  if (state.committed[unit]) job_ended(unit);
}

void tw_unit_commit(uint32_t unit) {
  tw_accelerator_meet();
  TW_COMPILER_BARRIER();
  state.committed[unit]++;
  state.last = unit << TW_UNIT_SHIFT | (state.committed[unit] & COUNT_MASK);
}

/* If a later job has begun, the job of this mark has ended. */
void tw_unit_wait(uint32_t mark) {
  const uint32_t unit = mark >> TW_UNIT_SHIFT;
  if (unit && (state.committed[unit] & COUNT_MASK) == (mark & COUNT_MASK)) job_ended(unit);
}
#else
typedef int tw_no_units; /* a file has to define something */
#endif
