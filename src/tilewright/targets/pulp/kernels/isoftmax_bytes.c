/* Shares of each row of bytes; all cores together. */
#include "isoftmax_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_bytes_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

#include "cluster.h"
#include "shares.h"

void TW_NAME(const tw_isoftmax_bytes_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length;
  const tw_share share = tw_share_of(params->rows);
  x += share.first * length;
  y += share.first * length;
  for (int32_t row = share.first; row < share.end; row++, x += length, y += length) {
    tw_share_out(&params->tables, tw_largest_of(x, length), x, y, length);
  }
}
