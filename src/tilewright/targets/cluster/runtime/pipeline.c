#include "pipeline.h"

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"

/* Prefetch transfers of later layers, indexed by layer number. Only the DMA core uses these. */
static uint32_t fetched[TW_PREFETCH_SLOTS] TW_STATE;

void tw_prefetch_begin(int layer) { fetched[layer % TW_PREFETCH_SLOTS] = tw_dma_begin(); }

void tw_wait_prefetch(int layer) {
  uint32_t *const id = &fetched[layer % TW_PREFETCH_SLOTS];
  *id = tw_finish(*id);
}

void tw_fork(tw_fetch *function, int cores) {
  for (int i = 0; i < TW_PREFETCH_SLOTS; i++) fetched[i] = TW_DMA_NONE;
  /* No core is at a barrier now: the others wait for work. */
  tw_event_team((uint32_t)cores);
  tw_event_push((uint32_t)(uintptr_t)function);
  tw_event_pop();
  function();
  tw_barrier_all();
}

void tw_serve(void) {
  for (;;) {
    tw_fetch *const function = (tw_fetch *)(uintptr_t)tw_event_pop();
    function();
    tw_barrier_all();
  }
}
