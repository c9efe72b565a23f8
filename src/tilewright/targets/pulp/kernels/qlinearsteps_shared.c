/* y = table[(x - lowest) >> bits]; all cores together */
#include "qlinearsteps.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearsteps_shared_i8
#define TW_TABLE int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "lanes.h"

#define TW_A_NEXT_HALF(d) ".insn i 0x0b, 1, " d ", %[x], 2\n"
#define TW_A_STEP_OF(d) "sra " d ", " d ", %[bits]\n"
#define TW_A_ENTRY(d) TW_A_BYTE_AT(d, "%[middle]", d)

/* Four at a time, so that nothing waits for a load; `middle` is the entry of 0. */
static inline int32_t look_up_fours(const uint8_t *middle, int32_t bits, const int16_t *x, TW_Y *y, int32_t fours) {
#if TW_XPULP
  if (fours > 0) {
    int32_t x0, x1, x2, x3;
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[fours]", 15) TW_A_FOUR(TW_A_NEXT_HALF, "%[x0]", "%[x1]", "%[x2]", "%[x3]")
                     TW_A_FOUR(TW_A_STEP_OF, "%[x0]", "%[x1]", "%[x2]", "%[x3]")
                     TW_A_FOUR(TW_A_ENTRY, "%[x0]", "%[x1]", "%[x2]", "%[x3]")
                     TW_A_PACK4("%[x0]", "%[x1]", "%[x2]", "%[x3]") TW_A_SW("%[x0]", "%[y]", "4") TW_A_END
                     : [x] "+r"(x), [y] "+r"(y), [x0] "=&r"(x0), [x1] "=&r"(x1), [x2] "=&r"(x2), [x3] "=&r"(x3)
                     : [fours] "r"(fours), [middle] "r"(middle), [bits] "r"(bits)
                     : "memory");
  }
  return 4 * fours;
#else
  (void)middle, (void)bits, (void)x, (void)y, (void)fours;
  return 0;
#endif
}

void TW_NAME(const tw_qlinearsteps_params *params, const int16_t *x, const TW_TABLE *table, TW_Y *y) {
  const tw_share share = tw_share_in_blocks(params->count, 4);
  const int32_t bits = params->bits;
  const uint8_t *const middle = (const uint8_t *)table + (-INT16_MIN >> bits);
  int32_t i = share.first;
  i += look_up_fours(middle, bits, x + i, y + i, (share.end - i) >> 2);
  for (; i < share.end; i++) y[i] = (TW_Y)middle[x[i] >> bits];
}
