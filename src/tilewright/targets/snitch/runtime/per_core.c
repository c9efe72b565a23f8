/* The loop of layers whose cores have tiles of their own. Only one core moves data: each of the others has a box in which
 * it asks for the transfers of a tile, and that core starts them as if it were the one that asks. */
#include <stddef.h>

#include "../kernels/cluster.h"
#include "dma.h"
#include "events.h"
#include "limits.h"
#include "turns.h"
#include "xdma.h"

typedef struct {
  tw_tile *volatile transfers;
  volatile int32_t tile, turn;
  volatile uint32_t asked, begun, done; /* how many transfers of tiles */
  uint32_t groups[2];                   /* of the last two: there are never more on the way */
  volatile uint32_t leaves;             /* it asks for nothing more */
} tw_box;
static tw_box boxes[TW_MOST_CORES] TW_STATE;

/* ---- a core that computes ---- */

/* Asks for the transfers of a tile; gives their number among those that this core has asked for. */
static uint32_t ask(tw_box *box, tw_tile *transfers, int tile, int turn) {
  if (transfers == NULL) return 0;
  tw_fpu_wait();
  while (box->begun != box->asked) continue;
  box->transfers = transfers;
  box->tile = tile;
  box->turn = turn;
  box->asked++;
  return box->asked;
}

static void finish(const tw_box *box, uint32_t *number) {
  while (box->done < *number) continue;
  *number = 0;
  TW_COMPILER_BARRIER();
}

static void own_tiles(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store) {
  const int core = tw_core(), cores = tw_team();
  tw_box *const box = &boxes[core];
  uint32_t loading = 0, storing = 0;
  if (core < tiles) loading = ask(box, load, core, 0);
  for (int tile = core, turn = 0; tile < tiles; tile += cores, turn++) {
    const int more = tile + cores < tiles;
    finish(box, &loading);
    if (buffers > 1 && more) loading = ask(box, load, tile + cores, turn + 1);
    if (buffers == 1) finish(box, &storing);
    run(tile, turn);
    finish(box, &storing);
    storing = ask(box, store, tile, turn);
    if (buffers == 1 && more) loading = ask(box, load, tile + cores, turn + 1);
  }
  finish(box, &storing);
}

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

static void serve_all(int cores) {
  int left = 0;
  while (left < cores) {
    left = 0;
    for (int core = 0; core < cores; core++) {
      serve(&boxes[core], (uint32_t)core);
      left += (int)boxes[core].leaves;
    }
  }
}

static void empty_boxes(int cores) {
  for (int core = 0; core < cores; core++) {
    boxes[core].asked = boxes[core].begun = boxes[core].done = boxes[core].leaves = 0;
  }
}

void tw_per_core(int tiles, int buffers, tw_tile *load, tw_tile *run, tw_tile *store, tw_fetch *next) {
  if (tw_is_dma_core()) {
    empty_boxes(tw_team());
    tw_take_turn();
  }
  tw_barrier_all();
  if (tw_is_dma_core()) {
    tw_start(next);
    serve_all(tw_team());
  } else {
    own_tiles(tiles, buffers, load, run, store);
    boxes[tw_core()].leaves = 1;
  }
  tw_barrier_all();
}
