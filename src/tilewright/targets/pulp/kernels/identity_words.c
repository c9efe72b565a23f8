/* y = x, in other bytes; all cores together, a word at a time */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_identity_words_i8
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "bytes4.h"
#include "cluster.h"

/* Shares begin where words do. */
enum { BLOCK = 16 };

void TW_NAME(const tw_unary_params *params, const TW_X *x, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->count * (int32_t)sizeof *x, BLOCK);
  tw_copy_run((uint8_t *)y + share.first, (const uint8_t *)x + share.first, share.end - share.first);
}
