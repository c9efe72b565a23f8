/* y = a where c holds, otherwise a + b; all cores together. */
#include "unary.h"

#ifndef TW_NAME
#define TW_NAME tw_accumulation_shared
#endif

#include "bytes4.h"
#include "cluster.h"
#include "share_of_run.h"

void TW_NAME(const tw_unary_params *params, const uint8_t *c, const float *a, const float *b, float *y) {
  const tw_share share = tw_share_of_run(params->count, sizeof *y);
  int32_t left = share.end - share.first;
  a += share.first, b += share.first, y += share.first;
  if (*c) {
    tw_copy_words((uint8_t *)y, 4, (const uint8_t *)a, 4, left);
    return;
  }
  for (; left >= 4; left -= 4, a += 4, b += 4, y += 4) {
    const float a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    y[0] = a0 + b0, y[1] = a1 + b1, y[2] = a2 + b2, y[3] = a3 + b3;
  }
  for (; left > 0; left--) *y++ = *a++ + *b++;
}
