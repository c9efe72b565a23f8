/* The sum of two tensors of bytes, each with a factor of a byte, and requantised: one dot product for each result; all
 * cores together. */
#include "qlinearadd_dots.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearadd_dots_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "pack8.h"
#include "xpulp.h"

static inline uint32_t one(const tw_qlinearadd_dots_params *p, uint32_t pair) {
  const int32_t sum = tw_x_dotup4((int32_t)pair, (int32_t)p->factors);
  return (uint32_t)tw_x_clipu(tw_x_mac(p->add, sum, p->mul) >> p->shift, p->top);
}

#if TW_XPULP

#define TW_A_DOTS                                                                                       \
  TW_A_LW("%3", "%0", "4") TW_A_LW("%4", "%1", "4") "xor %3, %3, %[flip_a]\nxor %4, %4, %[flip_b]\n"     \
  "mv %5, %3\n" TW_A_R(TW_E_SHUFFLE2_4, "%3", "%4", "%[front]") TW_A_R(TW_E_SHUFFLE2_4, "%5", "%4", "%[rear]")
#define TW_A_SUM(t, pairs, factors) TW_A_R(TW_E_DOTUP4, t, pairs, factors)
#define TW_A_FOUR(DO) DO("%4") DO("%6") DO("%7") DO("%8")
#define TW_A_PRODUCT(t) TW_A_R(TW_E_MAC, t, t, "%[less]")
#define TW_A_SHIFTED(t) TW_A_R(TW_E_ADDN, t, "%[add]", "%[shift]")
#define TW_A_CLIPPED(t) TW_A_R(TW_E_CLIPU, t, t, "%[top]")
#define TW_A_STORED                                                                                     \
  TW_A_R(TW_E_PACKLO4, "%4", "%6", "%4") TW_A_R(TW_E_PACKHI4, "%4", "%8", "%7")                         \
  TW_A_R(TW_E_ADD4, "%4", "%4", "%[low]") TW_A_SW("%4", "%2", "4")

/* Some times four elements. A product is the sum plus `less` times itself, which is one cycle; to multiply takes two. */
static void fours(const tw_qlinearadd_dots_params *p, const TW_A *a, const TW_B *b, TW_Y *y, int32_t times) {
  uint32_t front, second, rear = (uint32_t)times, t1, t2, t3;
  const uint32_t factors = p->factors, others = factors << 16, low = 0x01010101u * (uint8_t)p->low;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%5", 27) TW_A_DOTS TW_A_SUM("%4", "%3", "%[factors]")
                   TW_A_SUM("%6", "%3", "%[others]") TW_A_SUM("%7", "%5", "%[factors]")
                   TW_A_SUM("%8", "%5", "%[others]") TW_A_FOUR(TW_A_PRODUCT) TW_A_FOUR(TW_A_SHIFTED)
                   TW_A_FOUR(TW_A_CLIPPED) TW_A_STORED TW_A_END
                   : "+r"(a), "+r"(b), "+r"(y), "=&r"(front), "=&r"(second), "+r"(rear), "=&r"(t1), "=&r"(t2), "=&r"(t3)
                   : [flip_a] "r"(p->flip_a), [flip_b] "r"(p->flip_b), [front] "r"(TW_ZIP_LOW), [rear] "r"(TW_ZIP_HIGH),
                     [factors] "r"(factors), [others] "r"(others), [less] "r"(p->mul - 1), [add] "r"(p->add),
                     [shift] "r"(p->shift), [top] "r"(p->top), [low] "r"(low)
                   : "memory");
}

#else

static void fours(const tw_qlinearadd_dots_params *p, const TW_A *a, const TW_B *b, TW_Y *y, int32_t times) {
  for (int32_t i = 0; i < 4 * times; i++) {
    const uint32_t pair = (((uint8_t)a[i] ^ p->flip_a) & 0xff) | (((uint8_t)b[i] ^ p->flip_b) & 0xff) << 8;
    y[i] = (TW_Y)(one(p, pair) + (uint32_t)p->low);
  }
}

#endif

void TW_NAME(const tw_qlinearadd_dots_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_qlinearadd_dots_params *const p = params;
  const tw_share share = tw_share_in_blocks(p->count, 4);
  const int32_t times = (share.end - share.first) >> 2;
  if (times > 0) fours(p, a + share.first, b + share.first, y + share.first, times);
  for (int32_t i = share.first + 4 * tw_x_max(times, 0); i < share.end; i++) {
    const uint32_t pair = (((uint8_t)a[i] ^ p->flip_a) & 0xff) | (((uint8_t)b[i] ^ p->flip_b) & 0xff) << 8;
    y[i] = (TW_Y)(one(p, pair) + (uint32_t)p->low);
  }
}
