/* A matrix product whose matrices lie outside, tile by tile through the TCDM, by one core: it starts transfers as far ahead as
 * there is room, and gives ITA a job as soon as its tiles have come. Two blocks of rows stay while all columns pass by. */
#include "ita.h"
#include "machine.h"

enum { ROWS = 2, MOST_INNER = 8, B_TILES = 11, C_TILES = 2, FLYING = 4 };
enum { A_AT = 0, B_AT = A_AT + ROWS * MOST_INNER * TW_ITA_TILE, C_AT = B_AT + B_TILES * TW_ITA_TILE, BIAS_AT = C_AT + C_TILES * TW_ITA_TILE };

typedef struct {
  uint32_t rows, columns, inner;              /* tiles */
  uint32_t a_from, b_from, bias_from, c_to;   /* where matrices lie in tiles */
} problem;
problem given GIVEN = {0};
tw_ita_layer layer GIVEN = {0};
uint32_t cycles GIVEN = 0;

static problem size;
static tw_ita ita;
static uint32_t flying[FLYING], oldest, in_flight; /* transfers of tiles under way */
static uint32_t loaded;                            /* tiles that have come */
static uint32_t storing, stored, store_id;         /* whether a result is on its way; how many are over */

/* ---- the tiles in the order in which they are asked for ---- */

static struct {
  uint32_t pair, column, row, k; /* row ROWS: a tile of B comes next */
  uint32_t b, slot;              /* tiles of B so far, and where the next goes */
  int32_t room_after;            /* the job after which there is room for it, or -1 */
} next;

static uint32_t job_of(uint32_t pair, uint32_t column, uint32_t row, uint32_t k) { return ((pair * size.columns + column) * ROWS + row) * size.inner + k; }

/* Of the first column: a tile of A and one of B in turn, then the second rows of A; then tiles of B alone. */
static void step(void) {
  if (next.column == 0 && next.row == 0) next.row = ROWS;
  else {
    next.row = next.column == 0 && next.row == ROWS ? 0 : next.row;
    if (++next.k == size.inner) {
      next.k = 0;
      if (next.column == 0 && next.row == 0) next.row = 1;
      else if (++next.column == size.columns) next.column = 0, next.pair++, next.row = 0;
      else next.row = ROWS;
    }
  }
}

static int32_t room_after(void) {
  if (next.row < ROWS) return next.pair == 0 ? -1 : (int32_t)job_of(next.pair - 1, size.columns - 1, next.row, next.k);
  if (next.b < B_TILES) return -1;
  const uint32_t before = next.b - B_TILES, column = before / size.inner;
  return (int32_t)job_of(column / size.columns, column % size.columns, ROWS - 1, before % size.inner);
}

static void ask_for_tile(void) {
  const uint32_t to = next.row < ROWS ? A_AT + (next.row * size.inner + next.k) * TW_ITA_TILE : B_AT + next.slot * TW_ITA_TILE;
  const uint32_t tile = next.row < ROWS ? (next.pair * ROWS + next.row) * size.inner + next.k : next.column * size.inner + next.k;
  flying[(oldest + in_flight++) % FLYING] = transfer_in(TW_ITA_MEMORY + to, (next.row < ROWS ? size.a_from : size.b_from) + tile * TW_ITA_TILE, TW_ITA_TILE);
  if (next.row == ROWS) next.b++, next.slot = next.slot + 1 == B_TILES ? 0 : next.slot + 1;
  step();
  next.room_after = room_after();
}

/* How many tiles must have come for a job. */
static uint32_t needed(uint32_t pair, uint32_t column, uint32_t row, uint32_t k) {
  const uint32_t before = pair * (ROWS + size.columns) * size.inner;
  if (column) return before + (ROWS + column) * size.inner + (row ? size.inner : k + 1);
  return before + (row ? 2 * size.inner + k + 1 : 2 * k + 2);
}

/* ---- what is done while something else is waited for ---- */

static void advance(uint32_t ended) {
  while (in_flight && is_over(flying[oldest])) oldest = (oldest + 1) % FLYING, in_flight--, loaded++;
  if (in_flight < FLYING && next.pair * ROWS < size.rows && next.room_after < (int32_t)ended) ask_for_tile();
  if (storing && is_over(store_id)) storing = 0, stored++;
  if (!storing && stored < size.rows * size.columns && ended >= (stored + 1) * size.inner) {
    const uint32_t pair = stored / (ROWS * size.columns), column = stored / ROWS % size.columns, row = pair * ROWS + stored % ROWS;
    store_id = transfer_out(TW_ITA_MEMORY + C_AT + stored % C_TILES * TW_ITA_TILE, size.c_to + (row * size.columns + column) * TW_ITA_TILE, TW_ITA_TILE);
    storing = 1;
  }
}

static void give_job(uint32_t tile, uint32_t tiles_needed, uint32_t row, uint32_t column, uint32_t k, uint32_t slot) {
  const int is_last = k + 1 == size.inner;
  while (loaded < tiles_needed || (is_last && stored + C_TILES <= tile)) advance(tw_ita_ended(&ita));
  const tw_ita_job job = {A_AT + (row * size.inner + k) * TW_ITA_TILE, B_AT + slot * TW_ITA_TILE, BIAS_AT + column * TW_ITA_BIAS,
                          C_AT + tile % C_TILES * TW_ITA_TILE, is_last ? 0 : TW_ITA_NO_OUTPUT | TW_ITA_NO_BIAS};
  tw_ita_put(&ita, &job);
  advance(tw_ita_ended(&ita));
}

/* Two tiles of the result; `slot` is that of the column's first tile of B. */
static uint32_t give_column(uint32_t pair, uint32_t column, uint32_t slot) {
  uint32_t at = slot;
  for (uint32_t row = 0; row < ROWS; row++) {
    at = slot;
    for (uint32_t k = 0; k < size.inner; k++) {
      give_job((pair * size.columns + column) * ROWS + row, needed(pair, column, row, k), row, column, k, at);
      at = at + 1 == B_TILES ? 0 : at + 1;
    }
  }
  return at;
}

int main(void) {
  size = given;
  tw_ita_clear();
  const uint32_t began = now(), bias_id = transfer_in(TW_ITA_MEMORY + BIAS_AT, size.bias_from, size.columns * TW_ITA_BIAS);
  while (!is_over(bias_id)) continue;
  next.room_after = -1;
  tw_ita_begin(&ita, &layer);
  for (uint32_t pair = 0, slot = 0; pair < size.rows / ROWS; pair++)
    for (uint32_t column = 0; column < size.columns; column++) slot = give_column(pair, column, slot);
  tw_ita_end(&ita);
  while (stored < size.rows * size.columns) advance(tw_ita_ended(&ita));
  cycles = now() - began;
  return 0;
}
