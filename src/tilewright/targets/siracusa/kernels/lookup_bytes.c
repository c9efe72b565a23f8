/* y = table[x - lowest] for bytes, one table for all; all cores together */
#include "lookup.h"

#ifndef TW_NAME
#define TW_NAME tw_lookup_bytes_i8
#define TW_X int8_t
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "xpulp.h"

void TW_NAME(const tw_lookup_params *params, const TW_X *x, const TW_TABLE *table, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->outer * params->inner, 4);
  const uint8_t *const entries = (const uint8_t *)table - params->lowest;
  int32_t i = share.first;
  for (; i + 4 <= share.end; i += 4) {
    const uint32_t word = tw_x_load(x + i);
    const int is_signed = (TW_X)-1 < 0;
    const int32_t x0 = is_signed ? tw_x_byte(word, 0) : tw_x_ubyte(word, 0);
    const int32_t x1 = is_signed ? tw_x_byte(word, 1) : tw_x_ubyte(word, 1);
    const int32_t x2 = is_signed ? tw_x_byte(word, 2) : tw_x_ubyte(word, 2);
    const int32_t x3 = is_signed ? tw_x_byte(word, 3) : tw_x_ubyte(word, 3);
    tw_x_store(y + i, tw_x_pack4(tw_x_byte_at(entries, x0), tw_x_byte_at(entries, x1),
                                 tw_x_byte_at(entries, x2), tw_x_byte_at(entries, x3)));
  }
  for (; i < share.end; i++) y[i] = (TW_Y)entries[x[i]];
}
