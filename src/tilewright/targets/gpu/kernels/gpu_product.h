/* Tiles of products of two matrices, summed in shared memory; floats, or integers that wrap around. A kernel includes
 * this after it has defined
 *   total_t, tw_params, tw_pointers: the types of sums, of parameters and of the struct of all pointers
 *   rows_of, inner_of, columns_of, batch_of (params)
 *   left_along_k, right_along_k (params): whether neighbours along k lie side by side
 *   left(params, pointers, batch, row, k), right(params, pointers, batch, k, column): elements as total_t
 *   store(params, pointers, batch, row, column, total) */
#ifndef TW_GPU_PRODUCT_H
#define TW_GPU_PRODUCT_H

#include "gpu.h"

/* Rows and columns of a tile, and of it what an item has; products at a time. */
enum { TW_TILE = 32, TW_EACH = 2, TW_DEPTH = 32, TW_SIDE = TW_TILE / TW_EACH };

TW_GROUP_SHARED(total_t, tw_left, [TW_DEPTH][TW_TILE + 1]);
TW_GROUP_SHARED(total_t, tw_right, [TW_DEPTH][TW_TILE + 1]);

static inline int32_t tw_tiles(int32_t size) { return (size + TW_TILE - 1) / TW_TILE; }

static inline tw_grid tw_product_grid(const tw_params *p) {
  const tw_grid groups = {tw_tiles(rows_of(p)) * tw_tiles(columns_of(p)) * batch_of(p), 1, 1};
  return groups;
}

/* Neighbouring items read what is close together: along k where that is so, else along the other axis. */
TW_GPU void tw_fetch(const tw_params *p, const tw_pointers *at, int32_t batch, int32_t row, int32_t column,
                     int32_t first) {
  TW_ITEMS(t) {
    for (int32_t i = t; i < TW_DEPTH * TW_TILE; i += TW_GROUP_SIZE) {
      const int32_t left_k = left_along_k(p) ? i % TW_DEPTH : i / TW_TILE;
      const int32_t left_row = left_along_k(p) ? i / TW_DEPTH : i % TW_TILE;
      const int32_t right_k = right_along_k(p) ? i % TW_DEPTH : i / TW_TILE;
      const int32_t right_column = right_along_k(p) ? i / TW_DEPTH : i % TW_TILE;
      tw_left[left_k][left_row] = row + left_row < rows_of(p) && first + left_k < inner_of(p)
                                      ? left(p, at, batch, row + left_row, first + left_k)
                                      : 0;
      tw_right[right_k][right_column] = column + right_column < columns_of(p) && first + right_k < inner_of(p)
                                            ? right(p, at, batch, first + right_k, column + right_column)
                                            : 0;
    }
  }
}

TW_GPU void tw_product(const tw_params *p, const tw_pointers *at) {
  const int32_t across = tw_tiles(columns_of(p)), down = tw_tiles(rows_of(p));
  const int32_t column = TW_GROUP_X % across * TW_TILE, row = TW_GROUP_X / across % down * TW_TILE;
  const int32_t batch = TW_GROUP_X / across / down;
  TW_ITEM_OWN(total_t, total, [TW_EACH][TW_EACH]);
  TW_ITEMS(t) {
    for (int32_t i = 0; i < TW_EACH; i++) {
      for (int32_t j = 0; j < TW_EACH; j++) total[TW_OWN(t)][i][j] = 0;
    }
  }
  for (int32_t first = 0; first < inner_of(p); first += TW_DEPTH) {
    tw_fetch(p, at, batch, row, column, first);
    TW_MEET();
    TW_ITEMS(t) {
      const int32_t r = t / TW_SIDE, c = t % TW_SIDE;
      for (int32_t k = 0; k < TW_DEPTH; k++) {
        for (int32_t i = 0; i < TW_EACH; i++) {
          for (int32_t j = 0; j < TW_EACH; j++) {
            total[TW_OWN(t)][i][j] += tw_left[k][r + i * TW_SIDE] * tw_right[k][c + j * TW_SIDE];
          }
        }
      }
    }
    TW_MEET();
  }
  TW_ITEMS(t) {
    for (int32_t i = 0; i < TW_EACH; i++) {
      for (int32_t j = 0; j < TW_EACH; j++) {
        const int32_t r = row + t / TW_SIDE + i * TW_SIDE, c = column + t % TW_SIDE + j * TW_SIDE;
        if (r < rows_of(p) && c < columns_of(p)) store(p, at, batch, r, c, total[TW_OWN(t)][i][j]);
      }
    }
  }
}

#endif
