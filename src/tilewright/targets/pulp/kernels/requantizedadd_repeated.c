/* y = out(first(a) + second(b)) of bytes, each of the three a requantisation, where a is several times as long as b, such
 * as the heads of an attention with one mask; all cores together. What b contributes is looked up once for all of them:
 * where in the table of sums it starts. */
#include "requantizedadd_tables.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_repeated_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "starts.h"

#define TW_A_SIGNED ((TW_A)-1 < 0)
#define TW_B_SIGNED ((TW_B)-1 < 0)
/* Elements of b that are prepared at a time; pieces of two cores begin in different banks. */
#define TW_PIECE 64
#define TW_PIECE_STEP (TW_PIECE + 1)

TW_DEFINE_SET_STARTS(set_starts, TW_B)

#if TW_XPULP
#define TW_A_FIRST(d) TW_A_BYTE_AT(d, "%[first]", d)
#endif

/* Two pieces of a with the same starts; they may be one and the same. */
static inline void add_pieces(const uint8_t *first, const tw_start *starts, const TW_A *a, const TW_A *c, TW_Y *y, TW_Y *z,
                              int32_t count) {
#if TW_XPULP
  if (count >= 4) {
    int32_t a0, a1, a2, a3, c0, c1, c2, c3, s0, s1, s2, s3;
    __asm__ volatile(
        TW_A_BEGIN TW_A_LOOP("%[words]", 36) TW_A_LW("%[a3]", "%[a]", "4") TW_A_LW("%[c3]", "%[c]", "4")
        TW_A_LW("%[s0]", "%[starts]", "4") TW_A_LW("%[s1]", "%[starts]", "4") TW_A_LW("%[s2]", "%[starts]", "4")
        TW_A_LW("%[s3]", "%[starts]", "4") TW_A_BYTES("sign", "%[a3]", "%[a0]", "%[a1]", "%[a2]", "%[a3]")
        TW_A_BYTES("sign", "%[c3]", "%[c0]", "%[c1]", "%[c2]", "%[c3]")
        TW_A_FOUR(TW_A_FIRST, "%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_FOUR(TW_A_FIRST, "%[c0]", "%[c1]", "%[c2]", "%[c3]")
        TW_A_BYTE_AT("%[a0]", "%[s0]", "%[a0]") TW_A_BYTE_AT("%[a1]", "%[s1]", "%[a1]")
        TW_A_BYTE_AT("%[a2]", "%[s2]", "%[a2]") TW_A_BYTE_AT("%[a3]", "%[s3]", "%[a3]")
        TW_A_BYTE_AT("%[c0]", "%[s0]", "%[c0]") TW_A_BYTE_AT("%[c1]", "%[s1]", "%[c1]")
        TW_A_BYTE_AT("%[c2]", "%[s2]", "%[c2]") TW_A_BYTE_AT("%[c3]", "%[s3]", "%[c3]")
        TW_A_PACK4("%[a0]", "%[a1]", "%[a2]", "%[a3]") TW_A_PACK4("%[c0]", "%[c1]", "%[c2]", "%[c3]")
        TW_A_SW("%[a0]", "%[y]", "4") TW_A_SW("%[c0]", "%[z]", "4") TW_A_END
        : [a] "+r"(a), [c] "+r"(c), [starts] "+r"(starts), [y] "+r"(y), [z] "+r"(z), [a0] "=&r"(a0), [a1] "=&r"(a1),
          [a2] "=&r"(a2), [a3] "=&r"(a3), [c0] "=&r"(c0), [c1] "=&r"(c1), [c2] "=&r"(c2), [c3] "=&r"(c3),
          [s0] "=&r"(s0), [s1] "=&r"(s1), [s2] "=&r"(s2), [s3] "=&r"(s3)
        : [words] "r"(count >> 2), [first] "r"(first), [sign] "i"(TW_I_BYTE(TW_A_SIGNED))
        : "memory");
  }
  count &= 3;
#endif
  for (; count > 0; count--) {
    const uint8_t *const from = *starts++;
    const uint8_t left = from[first[*a++]], right = from[first[*c++]];
    *y++ = (TW_Y)left;
    *z++ = (TW_Y)right;
  }
}

void TW_NAME(const tw_requantizedadd_tables_params *params, const TW_A *a, const TW_B *b, TW_Y *y, void *scratch) {
  const int32_t times = params->loops.size[0], length = params->loops.size[1];
  const uint8_t *const first = params->first + 128 * TW_A_SIGNED, *const second = params->second + 128 * TW_B_SIGNED;
  tw_start *const starts = (tw_start *)scratch + TW_PIECE_STEP * tw_core();
  const tw_share share = tw_share_in_blocks(length, 4);
  for (int32_t at = share.first; at < share.end; at += TW_PIECE) {
    const int32_t count = tw_x_min(share.end - at, TW_PIECE);
    set_starts(second, params->out, b + at, starts, count);
    for (int32_t time = 0; time < times; time += 2) {
      const int32_t here = time * length + at, there = tw_x_min(time + 1, times - 1) * length + at;
      add_pieces(first, starts, a + here, a + there, y + here, y + there, count);
    }
  }
}
