/* No core is set aside for moving data: all of them start transfers, which are shared out or told to the DMA engine (dma.c).
 * What a core has copied itself is there at the next barrier; for the engine's transfers, the core that has started them waits before
 * it. */
#include "pipeline.h"

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"

/* Transfers that were started for layers before their turn, by the layer's number: only the core that starts them uses these.
 * And what all cores call. */
static struct {
  uint32_t fetched[TW_PREFETCH_SLOTS];
  tw_fetch *volatile work;
} state TW_STATE;

void tw_wait_prefetch(int layer) {
  if (!tw_is_dma_core()) return;
  uint32_t *const id = &state.fetched[layer % TW_PREFETCH_SLOTS];
  *id = tw_finish(*id);
}

void tw_prefetch_begin(int layer) {
  if (tw_is_dma_core()) state.fetched[layer % TW_PREFETCH_SLOTS] = tw_dma_begin();
}

static void call_and_meet(void) {
  state.work();
  tw_barrier_all();
}

void tw_fork(tw_fetch *function, int cores) {
  for (int i = 0; i < TW_PREFETCH_SLOTS; i++) state.fetched[i] = TW_DMA_NONE;
  for (int tile = 0; tile * TW_TILE_CORES < cores; tile++) tw_local_of((uint32_t)tile)->team = (uint32_t)cores;
  state.work = function;
  if (cores > 1) {
    tw_wake((uint32_t)cores);
    __asm__ volatile("wfi" ::: "memory"); /* it has woken itself, too */
  }
  call_and_meet();
}

void tw_serve(void) {
  for (;;) {
    __asm__ volatile("wfi" ::: "memory");
    call_and_meet();
  }
}
