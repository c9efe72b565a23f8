/* Defines a kernel that takes one tensor of floats element by element, all cores together. Whoever includes this has defined
 *   static void tw_constants(const tw_unary_params *p, tw_room *room);                 once for each call
 *   static void tw_block(const float *x, float *y, tw_room *room);                     16 elements; y may be x
 * with function_blocks.h. */
#ifndef TW_UNARY_BLOCKS_H
#define TW_UNARY_BLOCKS_H

#include "cluster.h"
#include "tw.h"
#include "unary.h"

static inline void tw_copy_words(const float *from, float *to, int32_t count) {
  for (int32_t i = 0; i < count; i++) ((volatile uint32_t *)to)[i] = ((const volatile uint32_t *)from)[i];
}

/* Elements that are fewer, or do not begin at a multiple of 8. */
static TW_COMPACT void tw_block_elsewhere(const float *x, float *y, int32_t count, tw_room *room) {
  tw_copy_words(x, room->block, count);
  for (int32_t i = count; i < TW_BLOCK; i++) ((volatile uint32_t *)room->block)[i] = 0;
  tw_block(room->block, room->block, room);
  tw_fpu_wait();
  tw_copy_words(room->block, y, count);
}

void TW_NAME(const tw_unary_params *params, const float *x, float *y) {
  const tw_share share = tw_share_in_blocks(params->count, TW_BLOCK);
  const int in_place = tw_can_stream(x, y, y);
  tw_room room;
  if (share.first >= share.end) return;
  tw_room_begin(&room);
  tw_constants(params, &room);
  for (int32_t at = share.first; at < share.end; at += TW_BLOCK) {
    const int32_t count = tw_min(share.end - at, TW_BLOCK);
    if (in_place && count == TW_BLOCK) {
      tw_block(x + at, y + at, &room);
    } else {
      tw_block_elsewhere(x + at, y + at, count, &room);
    }
  }
  tw_fpu_wait();
}

#endif
