/* ITA's jobs, counted: they end in order. */
#include "accelerator.h"

#include <stddef.h>

#include "../kernels/ita_jobs.h"
#include "events.h"
#include "limits.h"
#include "room.h"
#include "units.h"

static struct {
  uint32_t committed;
  uint32_t barrier_first;
  uint32_t is_open; /* it expects more jobs than it has got */
  tw_fetch *meanwhile;
} state TW_STATE;

void tw_accelerator_init(void) {
  state.committed = TW_ACCELERATOR_NONE;
  state.barrier_first = state.is_open = 0;
  state.meanwhile = NULL;
  tw_ita_clear();
  tw_units_init();
}

void tw_accelerator_barrier_first(void) { state.barrier_first = 1; }

void tw_accelerator_meet(void) {
  if (!state.barrier_first) return;
  state.barrier_first = 0;
  tw_barrier_all();
}

uint32_t tw_accelerator_mark(void) { return tw_unit_mark() != 0 ? tw_unit_mark() : state.committed; }

int tw_accelerator_has_ended(uint32_t mark) {
  const int has_ended = (int32_t)(state.committed - TW_ITA_REGISTER(0x0c) - mark) >= 0;
  TW_COMPILER_BARRIER();
  return has_ended;
}

/* Nothing is read from the memory that ITA works in meanwhile. */
static void ended(uint32_t jobs) {
  const uint32_t committed = state.committed;
  while ((int32_t)(committed - TW_ITA_REGISTER(0x0c) - jobs) < 0) continue;
  TW_COMPILER_BARRIER();
}

void tw_accelerator_begin(void) {
  if (!state.is_open) return;
  state.is_open = 0;
  ended(state.committed);
  tw_ita_clear();
}

void tw_accelerator_meanwhile(tw_fetch *what) { state.meanwhile = what; }

void tw_accelerator_room(void) {
  if ((int32_t)TW_ITA_REGISTER(0x04) >= 0) return;
  if (state.meanwhile != NULL) state.meanwhile();
  while ((int32_t)TW_ITA_REGISTER(0x04) < 0) continue;
}

void tw_accelerator_leave_open(void) { state.is_open = 1; }

void tw_accelerator_commit(void) {
  tw_accelerator_meet();
  tw_unit_forget_last();
  TW_COMPILER_BARRIER();
  TW_ITA_REGISTER(0x00) = 0;
  state.committed++;
}

void tw_accelerator_wait(uint32_t mark) {
  if (tw_is_unit(mark)) tw_unit_wait(mark);
  else ended(mark);
}
