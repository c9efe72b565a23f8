/* Rows of TW_ROW_BYTES (64 or 128) in shared memory, TW_PIECE_BYTES at a time: pieces change places from row to row, so
 * that eight rows at one column lie in different banks. */
#ifndef TW_GPU_SWIZZLE_H
#define TW_GPU_SWIZZLE_H

#include "gpu.h"
#include "gpu_unroll.h"

#define TW_PIECE_BYTES 16

TW_GPU int32_t tw_swizzled(int32_t row, int32_t piece) {
#if TW_ROW_BYTES == 64
  return piece ^ (row >> 1 & 3);
#else
  return piece ^ (row & 7);
#endif
}

/* The offset of a byte of a row in a tile. */
TW_GPU int32_t tw_place(int32_t row, int32_t byte) {
  return row * TW_ROW_BYTES + tw_swizzled(row, byte / TW_PIECE_BYTES) * TW_PIECE_BYTES + byte % TW_PIECE_BYTES;
}

#endif
