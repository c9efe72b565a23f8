/* Rows by words, which may begin anywhere. Needs TW_X. */
#ifndef TW_WORD_COPY_H
#define TW_WORD_COPY_H

#include "rolled.h"
#include "widen.h"

/* Two words, and four: all are read before the first is written. */
TW_ALWAYS void tw_copy_2(const char *x, int32_t second, char *to) {
  const uint32_t a = tw_word_at(x), b = tw_word_at(x + second);
  __builtin_memcpy(to, &a, 4), __builtin_memcpy(to + second, &b, 4);
}

TW_ALWAYS void tw_copy_4(const char *x, int32_t third, char *to) {
  const uint32_t a = tw_word_at(x), b = tw_word_at(x + 4), c = tw_word_at(x + third), d = tw_word_at(x + third + 4);
  __builtin_memcpy(to, &a, 4), __builtin_memcpy(to + 4, &b, 4);
  __builtin_memcpy(to + third, &c, 4), __builtin_memcpy(to + third + 4, &d, 4);
}

/* Some columns of rows, by words; the last words of a row may begin before the end of those before. */
static __attribute__((noinline)) void tw_copy_rows(const TW_X *from, int32_t step, int32_t columns, TW_X *into,
                                                   int32_t pitch, int32_t rows) {
  const char *x = (const char *)from;
  char *to = (char *)into;
  step *= (int32_t)sizeof(TW_X), columns *= (int32_t)sizeof(TW_X), pitch *= (int32_t)sizeof(TW_X);
  if (columns < 4) {
    TW_ROLLED for (; rows > 0; rows--, x += step, to += pitch) {
      if (columns > 1) __builtin_memcpy(to, x, 2);
      to[columns - 1] = x[columns - 1];
    }
  } else if (columns <= 8) {
    TW_ROLLED for (; rows > 0; rows--, x += step, to += pitch) tw_copy_2(x, columns - 4, to);
  } else if (columns <= 16) {
    TW_ROLLED for (; rows > 0; rows--, x += step, to += pitch) tw_copy_4(x, columns - 8, to);
  } else {
    const int32_t last = columns - 16;
    TW_ROLLED for (; rows > 0; rows--, x += step, to += pitch) {
      TW_ROLLED for (int32_t i = 0; i < last; i += 16) tw_copy_4(x + i, 8, to + i);
      tw_copy_4(x + last, 8, to + last);
    }
  }
}

/* As many elements of one value as whole words have. */
static __attribute__((noinline)) void tw_fill_words(TW_X *from, int32_t elements, TW_X value) {
  const uint32_t word = sizeof(TW_X) == 1 ? (uint8_t)value * 0x01010101u : (uint16_t)value * 0x00010001u;
  int32_t bytes = elements * (int32_t)sizeof(TW_X);
  char *to = (char *)from;
  TW_ROLLED for (; bytes >= 16; bytes -= 16, to += 16) {
    __builtin_memcpy(to, &word, 4), __builtin_memcpy(to + 4, &word, 4);
    __builtin_memcpy(to + 8, &word, 4), __builtin_memcpy(to + 12, &word, 4);
  }
  TW_ROLLED for (; bytes > 0; bytes -= 4, to += 4) __builtin_memcpy(to, &word, 4);
}

#endif
