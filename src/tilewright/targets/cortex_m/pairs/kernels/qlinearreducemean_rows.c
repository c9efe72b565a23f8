/* y = requant(sum(x - x_zero) * mul / count) over some axes, of bytes that lie side by side. */
#include "qlinearreducemean.h"

#include "qlinear_mean.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearreducemean_rows
#define TW_X int8_t
#define TW_Y int8_t
#endif

#include "rolled.h"
#include "widen.h"

/* Bytes as if they were unsigned: of signed ones, 128 more each. */
#define TW_TO_UNSIGNED ((TW_X)-1 < 0 ? 0x80808080u : 0u)

static int32_t sum(const TW_X *x, int32_t count) {
  int32_t total = 0;
#ifdef __ARM_FEATURE_DSP
  uint32_t bytes = 0;
  const int32_t by_words = count & ~3;
  TW_ROLLED for (; count >= 16; count -= 16, x += 16) {
    const uint32_t a = tw_word_at(x), b = tw_word_at(x + 4), c = tw_word_at(x + 8), d = tw_word_at(x + 12);
    bytes = __usada8(a ^ TW_TO_UNSIGNED, 0, bytes), bytes = __usada8(b ^ TW_TO_UNSIGNED, 0, bytes);
    bytes = __usada8(c ^ TW_TO_UNSIGNED, 0, bytes), bytes = __usada8(d ^ TW_TO_UNSIGNED, 0, bytes);
  }
  TW_ROLLED for (; count >= 4; count -= 4, x += 4) bytes = __usada8(tw_word_at(x) ^ TW_TO_UNSIGNED, 0, bytes);
  total = (int32_t)bytes - ((TW_X)-1 < 0 ? 128 * by_words : 0);
#endif
  TW_ROLLED for (; count > 0; count--) total += *x++;
  return total;
}

void TW_NAME(const tw_qlinearreducemean_params *params, const TW_X *x, TW_Y *y) {
  const tw_qlinearreducemean_params p = *params;
  const int32_t results = tw_walk_length(p.loops.kept_rank, p.loops.kept_size), count = p.loops.count;
  int32_t at[TW_MAX_RANK] = {0}, offset = 0;
  for (int32_t i = 0; i < results; i++) {
    const int32_t total = sum(x + offset, count) - count * p.x_zero;
    y[i] = (TW_Y)tw_mean(&p.requant, total, count, p.mul);
    tw_walk(p.loops.kept_rank, p.loops.kept_size, p.loops.kept_stride, at, &offset);
  }
}
