/* A target whose only accelerators are declared units. */
#include "accelerator.h"

#include "events.h"
#include "limits.h"
#include "units.h"

static uint32_t barrier_first TW_STATE;

void tw_accelerator_init(void) {
  barrier_first = 0;
  tw_units_init();
}

void tw_accelerator_barrier_first(void) { barrier_first = 1; }

void tw_accelerator_meet(void) {
  if (!barrier_first) return;
  barrier_first = 0;
  tw_barrier_all();
}

uint32_t tw_accelerator_mark(void) { return tw_unit_mark(); }

void tw_accelerator_wait(uint32_t mark) { tw_unit_wait(mark); }
