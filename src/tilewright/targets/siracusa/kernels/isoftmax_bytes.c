/* Shares of each row of bytes; all cores together. */
#include "isoftmax_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_isoftmax_bytes_i8_u8
#define TW_X int8_t
#define TW_Y uint8_t
#endif

#include "cluster.h"
#include "shares.h"

/* The largest bytes in each lane of at least four, the last ones perhaps looked at twice. */
static inline int32_t largest_lanes(const TW_X *x, int32_t length) {
  int32_t four = (int32_t)tw_x_load(x + length - 4);
  int32_t words = length >> 2;
#if TW_XPULP
  int32_t pairs = words >> 1, first, second;
  if (pairs > 0) {
    __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 4) TW_A_LW("%[first]", "%[x]", "4") TW_A_LW("%[second]", "%[x]", "4")
                     ".insn r " TW_E_DOT_OPCODE ", 1, %[max], %[four], %[four], %[first]\n"
                     ".insn r " TW_E_DOT_OPCODE ", 1, %[max], %[four], %[four], %[second]\n" TW_A_END
                     : [x] "+r"(x), [four] "+r"(four), [first] "=&r"(first), [second] "=&r"(second)
                     : [pairs] "r"(pairs), [max] "i"(TW_X_SIGNED ? 0x18 : 0x1c)
                     : "memory");
  }
  words &= 1;
#endif
  for (; words > 0; words--, x += 4) {
    const int32_t word = (int32_t)tw_x_load(x);
    four = TW_X_SIGNED ? tw_x_max4(four, word) : tw_x_maxu4(four, word);
  }
  return four;
}

static inline int32_t largest_of(const TW_X *x, int32_t length) {
  int32_t largest = x[0];
  if (length >= 4) return tw_largest_lane((uint32_t)largest_lanes(x, length));
  for (; length > 1; length--) largest = tw_x_max(largest, *++x);
  return largest;
}

void TW_NAME(const tw_isoftmax_bytes_params *params, const TW_X *x, TW_Y *y) {
  const int32_t length = params->length;
  const tw_share share = tw_share_of(params->rows);
  x += share.first * length;
  y += share.first * length;
  for (int32_t row = share.first; row < share.end; row++, x += length, y += length) {
    tw_share_out(&params->tables, largest_of(x, length), x, y, length);
  }
}
