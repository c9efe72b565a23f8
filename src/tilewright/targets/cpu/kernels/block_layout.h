/* Weights in blocks of 32 elements, of which a panel of rows lies side by side. A source that includes this says what a
 * block is:
 *   TW_BITS    of a level: 4, 5, 6 or 8
 *   TW_SCALING what levels are multiplied with and moved by, one of those below
 *   TW_ZERO    the level that stands for 0
 *
 * A panel: all that levels are multiplied with, then for each block its levels, [4][row][4] bytes with the first 16
 * elements in their lower and the last 16 in their upper halves (8 bits: [8][row][4]); then bits above the fourth. Where
 * registers may have any length, the four bytes of a row lie apart: [4][4][row]. */
#ifndef TW_BLOCK_LAYOUT_H
#define TW_BLOCK_LAYOUT_H

#include "block_lanes.h"

#define TW_PLAIN 0       /* a float16 for each block */
#define TW_MOVED 1       /* two float16 for each block: scale and least value */
#define TW_SUPER 2       /* two float16 for 8 blocks, for each of these two bytes of 6 bits: scale and minimum */
#define TW_SUPER_APART 3 /* a float16 for 8 blocks, for each of these two signed bytes: a scale of either half */

#define TW_HALVES_APART (TW_SCALING == TW_SUPER_APART)
#define TW_HAS_LEAST (TW_SCALING == TW_MOVED || TW_SCALING == TW_SUPER)
#define TW_IS_SUPER (TW_SCALING >= TW_SUPER)
#if TW_BITS == 8 && TW_LEVELS_SIGNED
#define TW_LEVEL_ZERO 0
#else
#define TW_LEVEL_ZERO TW_ZERO
#endif

#define TW_LEVEL_BYTES (4 * TW_BITS * TW_PANEL) /* of a block */
#define TW_PIECE (4 * TW_PANEL)                 /* four elements of each row */
#if TW_SCALING == TW_PLAIN
#define TW_SCALE_BYTES (2 * TW_PANEL) /* of a block, or of 8 of them */
#elif TW_SCALING == TW_MOVED
#define TW_SCALE_BYTES (4 * TW_PANEL)
#elif TW_SCALING == TW_SUPER
#define TW_SCALE_BYTES (20 * TW_PANEL)
#else
#define TW_SCALE_BYTES (18 * TW_PANEL)
#endif

static inline int32_t tw_scales_bytes(int32_t blocks) {
  return ((TW_IS_SUPER ? blocks / 8 : blocks) * TW_SCALE_BYTES + 63) / 64 * 64;
}

#endif
