#include "each.h"

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "xdma.h"

typedef struct {
  tw_tile *volatile transfers;
  volatile int32_t tile, turn;
  volatile uint32_t asked, begun, done; /* how many transfers of tiles */
  uint32_t groups[2];                   /* of the last two requests: there are never more in flight */
  volatile uint32_t leaves;             /* it asks for nothing more */
} tw_box;
static tw_box boxes[TW_MOST_CORES] TW_STATE;

/* ---- a core that computes ---- */

uint32_t tw_request(tw_tile *transfers, int tile, int turn) {
  tw_box *const box = &boxes[tw_core()];
  tw_fpu_wait();
  while (box->begun != box->asked) continue;
  box->transfers = transfers;
  box->tile = tile;
  box->turn = turn;
  box->asked++;
  return box->asked;
}

uint32_t tw_request_wait(uint32_t number) {
  const tw_box *const box = &boxes[tw_core()];
  while (box->done < number) continue;
  TW_COMPILER_BARRIER();
  return TW_REQUEST_NONE;
}

void tw_each_end(void) { boxes[tw_core()].leaves = 1; }

/* ---- the core that moves data ---- */

static void act_as(uint32_t core) { __asm__ volatile("csrw mscratch, %0" : : "r"(core) : "memory"); }

static void begin(tw_box *box, uint32_t core) {
  const uint32_t group = tw_dma_begin();
  act_as(core);
  box->transfers(box->tile, box->turn);
  act_as(TW_DMA_CORE);
  box->groups[(box->begun + 1) & 1] = group;
  box->begun++;
}

static void serve(tw_box *box, uint32_t core) {
  if (box->asked != box->begun) begin(box, core);
  if (box->done != box->begun && tw_dma_is_done(box->groups[(box->done + 1) & 1])) box->done++;
}

/* Once all cores have left, no request can arrive before the next barrier. */
static void empty(tw_box *box) { box->asked = box->begun = box->done = box->leaves = 0; }

void tw_serve_requests(void) {
  const int cores = tw_common.who_meet ? (int)tw_common.who_meet - 1 : TW_MOST_CORES;
  int left = 0;
  while (left < cores) {
    left = 0;
    for (int core = 0; core < cores; core++) {
      serve(&boxes[core], (uint32_t)core);
      left += (int)boxes[core].leaves;
    }
  }
  for (int core = 0; core < cores; core++) empty(&boxes[core]);
}
