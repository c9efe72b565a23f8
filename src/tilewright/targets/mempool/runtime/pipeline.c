/* There is no DMA core: all cores call transfers, which are split among them or given to the DMA engine (dma.c). Copies by
 * cores are complete at the next barrier. The core that started the engine waits for it before that barrier. */
#include "pipeline.h"

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"

/* Prefetch transfers of later layers, indexed by layer number, used only by the core that starts them; and the function that
 * all cores call. */
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
