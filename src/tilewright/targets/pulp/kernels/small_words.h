/* Products of one word each: four results at a time, from dot products without a sum to a word of bytes. */
#ifndef TW_SMALL_WORDS_H
#define TW_SMALL_WORDS_H

#include "dot.h"
#include "pack8.h"
#include "small_matmul.h"

/* Where the next results are and how far it is to those after them; what is read lies beside it. */
typedef struct {
  const uint8_t *from;
  int32_t from_step;
  uint8_t *to;
  int32_t to_step; /* both in bytes */
} tw_small_stream;

#if TW_XPULP

/* One result: %[add] is ready in u while the word is on its way. */
#define TW_A_SMALL_ONE(DOT, u, a, b) "mv " u ", %[add]\n" DOT("%[t]", a, b) TW_A_R(TW_E_MAC, u, "%[t]", "%[mul]")
/* One result of the word in u and one that stays. */
#define TW_A_SMALL_TURN(DOT, u, a) DOT("%[t]", a, u) "mv " u ", %[add]\n" TW_A_R(TW_E_MAC, u, "%[t]", "%[mul]")
#define TW_A_SMALL_NARROW(u) "sra " u ", " u ", %[shift]\n"
#define TW_A_SMALL_CLIP(u) TW_A_CLIP_BYTE(u, "%[high]")
#define TW_A_SMALL_FOUR(DO) DO("%[u0]") DO("%[u1]") DO("%[u2]") DO("%[u3]")
#define TW_A_SMALL_STORE                                                        \
  TW_A_SMALL_FOUR(TW_A_SMALL_NARROW) TW_A_SMALL_FOUR(TW_A_SMALL_CLIP)           \
  TW_A_R(TW_E_PACKLO4, "%[u0]", "%[u1]", "%[u0]")                               \
  TW_A_R(TW_E_PACKHI4, "%[u0]", "%[u3]", "%[u2]") TW_A_SW_STEP("%[u0]", "%[to]", "%[to_step]")

#endif

/* Four results of signed or unsigned words a[f] and b[f], stored one after the other. */
static inline void tw_small_four(const tw_small_scale *s, const uint32_t a[4], const uint32_t b[4], void *to, int a_signed,
                                 int b_signed, int y_signed) {
  int32_t r[4];
  for (int f = 0; f < 4; f++) r[f] = tw_small_finish(s, tw_dot(0, a[f], b[f], a_signed, b_signed), y_signed);
  tw_x_store(to, tw_x_pack4(r[0], r[1], r[2], r[3]));
}

#endif
