/* y = exp(x) / sum of exp(x) along an axis; all cores together, a row for each */
#include "softmax.h"

#ifndef TW_NAME
#define TW_NAME tw_softmax_blocks
#endif

#include "cluster.h"
#include "function_blocks.h"
#include "row_streams.h"

/* y = e^(x - ft5); what is far below does not count. */
static inline void powers(const float *x, float *y, tw_room *room) {
  tw_load_x(x);
  TW_EIGHTS(TW_WITH(TW_VFSUB_R, "f8", "f8", "f5") TW_WITH(TW_VFMAX_R, "f8", "f8", "f4"));
  tw_power(room);
  tw_store_x(y);
}

static inline void copy(const float *from, int32_t step, float *to, int32_t to_step, int32_t count) {
  for (; count > 0; count--, from += step, to += to_step) *(volatile uint32_t *)to = *(const volatile uint32_t *)from;
}

static TW_COMPACT void last_powers(const float *x, float *y, int32_t count, tw_room *room) {
  copy(x, 1, room->block, 1, count);
  for (int32_t i = count; i < TW_BLOCK; i++) ((volatile uint32_t *)room->block)[i] = 0;
  powers(room->block, room->block, room);
  tw_fpu_wait();
  copy(room->block, 1, y, 1, count);
}

/* A row that begins at a multiple of 8 bytes, and of an even length. */
static void softmax_row(const float *x, float *y, int32_t length, tw_room *room) {
  const int32_t pairs = length >> 1, whole = length & -TW_BLOCK;
  tw_row_largest(x, pairs, room->block);
  __asm__ volatile("fmv.s ft5, f12" : : : "ft5");
  tw_load_constants(room->power);
  for (int32_t i = 0; i < whole; i += TW_BLOCK) powers(x + i, y + i, room);
  if (whole < length) last_powers(x + whole, y + whole, length - whole, room);
  tw_row_sum(y, pairs);
  __asm__ volatile("fdiv.s f12, ft3, f12" : : : TW_ROW_REGISTERS);
  tw_row_scaled(y, y, pairs);
}

/* Any other row, in the working memory. */
static TW_COMPACT void softmax_elsewhere(const float *x, float *y, int32_t length, int32_t step, float *work, tw_room *room) {
  copy(x, step, work, 1, length);
  if (length & 1) ((volatile uint32_t *)work)[length] = 0xff800000; /* minus infinity */
  softmax_row(work, work, (length + 1) & ~1, room);
  copy(work, 1, y, step, length);
}

void TW_NAME(const tw_softmax_params *params, const float *x, float *y, void *scratch) {
  const int32_t length = params->length, inner = params->inner;
  const int32_t rows = params->outer * inner;
  const tw_share share = tw_share_of(rows);
  const int in_place = inner == 1 && (length & 1) == 0 && tw_can_stream(x, y, y);
  float *const work = (float *)scratch + (rows < TW_CORES ? share.first : tw_core()) * tw_whole_pairs(length);
  tw_room room;
  if (length == 0 || share.first >= share.end) return;
  tw_room_begin(&room);
  TW_SET("ft3", TW_ONE_BITS);
  TW_SET("ft4", 0xc2ae0000); /* -87 */
  int32_t outer = share.first / inner, column = share.first - outer * inner;
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t start = outer * length * inner + column;
    if (in_place) {
      softmax_row(x + start, y + start, length, &room);
    } else {
      softmax_elsewhere(x + start, y + start, length, inner, work, &room);
    }
    if (++column < inner) continue;
    column = 0;
    outer++;
  }
}
