/* y = table[x - lowest] for bytes, one table for all; all cores together */
#include "lookup.h"

#ifndef TW_NAME
#define TW_NAME tw_lookup_bytes_i8
#define TW_X int8_t
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "lanes.h"

#define TW_ENTRY(d) TW_A_BYTE_AT(d, "%[entries]", d)

/* Two words at a time, so that nothing waits for a load. */
static inline int32_t look_up_pairs(const uint8_t *entries, const TW_X *x, TW_Y *y, int32_t pairs) {
#if TW_XPULP
  if (pairs > 0) {
    int32_t x0, x1, x2, x3, z0, z1, z2, z3;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 24) TW_A_LW("%[x3]", "%[x]", "4") TW_A_LW("%[z3]", "%[x]", "4")
                     TW_A_BYTES("sign", "%[x3]", "%[x0]", "%[x1]", "%[x2]", "%[x3]")
                     TW_A_BYTES("sign", "%[z3]", "%[z0]", "%[z1]", "%[z2]", "%[z3]")
                     TW_A_FOUR(TW_ENTRY, "%[x0]", "%[x1]", "%[x2]", "%[x3]")
                     TW_A_FOUR(TW_ENTRY, "%[z0]", "%[z1]", "%[z2]", "%[z3]")
                     TW_A_PACK4("%[x0]", "%[x1]", "%[x2]", "%[x3]") TW_A_PACK4("%[z0]", "%[z1]", "%[z2]", "%[z3]")
                     TW_A_SW("%[x0]", "%[y]", "4") TW_A_SW("%[z0]", "%[y]", "4") TW_A_END
                     : [x] "+r"(x), [y] "+r"(y), [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&r"(x2), [x3] "=&r"(x3),
                       [z0] "=&r"(z0), [z1] "=&r"(z1), [z2] "=&r"(z2), [z3] "=&r"(z3)
                     : [pairs] "r"(pairs), [entries] "r"(entries), [sign] "i"(TW_I_BYTE((TW_X)-1 < 0))
                     : "memory");
  }
  return 8 * pairs;
#else
  (void)entries, (void)x, (void)y, (void)pairs;
  return 0;
#endif
}

void TW_NAME(const tw_lookup_params *params, const TW_X *x, const TW_TABLE *table, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->outer * params->inner, 8);
  const uint8_t *const entries = (const uint8_t *)table - params->lowest;
  int32_t i = share.first;
  i += look_up_pairs(entries, x + i, y + i, (share.end - i) >> 3);
  for (; i < share.end; i++) y[i] = (TW_Y)entries[x[i]];
}
