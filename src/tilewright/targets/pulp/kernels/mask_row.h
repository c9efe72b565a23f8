/* A row of a mask of bytes TW_M as all heads of an attention use it. What each byte does to a score is in a table of
 * words: clip(score, LEAST, MOST) + ADD, which is at most HIGHEST. */
#ifndef TW_MASK_ROW_H
#define TW_MASK_ROW_H

#include "cluster.h"
#include "pack8.h"

#define TW_M_SIGNED ((TW_M)-1 < 0)

/* For four columns: a byte of each in every word. */
typedef struct {
  uint32_t least, most, add;
} mask_word;

/* Columns of one byte, which all rows and cores know: their scores are looked up in a table that is masked as a whole. */
typedef struct {
  int32_t byte;    /* 0, where nothing is masked, if there is no such table */
  int32_t highest; /* that a score there can be */
  const uint8_t *table;
} alike_columns;

typedef struct {
  const TW_M *bytes;
  mask_word *words; /* from the plain columns to the quiet ones, if there are not more than `most` */
  int32_t most;
  int32_t plain;    /* columns from the first on whose mask is 0: all, or whole words */
  int32_t loud;     /* columns before the quiet ones: all, or whole words */
  alike_columns quiet;
} mask_row;

/* ---- making ---- */

static inline const uint32_t *masks_of(const uint32_t *masks) { return masks + 128 * TW_M_SIGNED; }

static inline mask_word word_of(const uint32_t *masks, const TW_M *m) {
  const uint32_t entries[4] = {masks[m[0]], masks[m[1]], masks[m[2]], masks[m[3]]};
  uint32_t parts[4];
  tw_transpose_4x4(entries, parts);
  return (mask_word){parts[0], parts[1], parts[2]};
}

/* Columns from the first on whose mask is 0: all, or whole words. */
static inline int32_t plain_columns(const TW_M *m, int32_t columns) {
  const TW_M *word = m, *const whole = m + (columns & ~3), *const end = m + columns;
  while (word != whole && tw_x_load(word) == 0) word += 4;
  const TW_M *byte = word;
  while (byte != end && *byte == 0) byte++;
  return byte == end ? columns : (int32_t)(word - m);
}

/* Where the last columns begin whose mask is this byte: at a word, but not before `from`. */
static inline int32_t alike_from(const TW_M *m, int32_t byte, int32_t from, int32_t columns) {
  const uint32_t four = 0x01010101u * (uint8_t)byte;
  int32_t begin = columns;
  while (begin & 3 && m[begin - 1] == byte) begin--;
  if (begin & 3) return columns;
  while (begin > from && tw_x_load(m + begin - 4) == four) begin -= 4;
  return begin;
}

static inline int32_t words_of(const mask_row *row) { return (row->loud - row->plain) >> 2; }

static inline void set_words(const uint32_t *masks, mask_row *row) {
  const int32_t words = words_of(row);
  if (words > row->most) return;
  for (int32_t i = 0; i < words; i++) row->words[i] = word_of(masks, row->bytes + row->plain + 4 * i);
}

/* ---- masking ---- */

static inline uint32_t masked(uint32_t scores, const mask_word *word) {
  const int32_t least = tw_x_maxu4((int32_t)scores, (int32_t)word->least);
  return (uint32_t)tw_x_add4(tw_x_minu4(least, (int32_t)word->most), (int32_t)word->add);
}

static inline void mask_words(const mask_word *word, uint8_t *x, int32_t words) {
#if TW_XPULP
  if (words <= 0) return;
  uint32_t scores, least, most, add;
  uint8_t *to = x;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[words]", 8) TW_A_LW("%[scores]", "%[x]", "4") TW_A_LW("%[least]", "%[word]", "4")
      TW_A_LW("%[most]", "%[word]", "4") TW_A_LW("%[add]", "%[word]", "4")
      TW_A_R(TW_E_MAXU4, "%[scores]", "%[scores]", "%[least]") TW_A_R(TW_E_MINU4, "%[scores]", "%[scores]", "%[most]")
      TW_A_R(TW_E_ADD4, "%[scores]", "%[scores]", "%[add]") TW_A_SW("%[scores]", "%[to]", "4") TW_A_END
      : [x] "+r"(x), [to] "+r"(to), [word] "+r"(word), [scores] "=&r"(scores), [least] "=&r"(least), [most] "=&r"(most),
        [add] "=&r"(add)
      : [words] "r"(words)
      : "memory");
#else
  for (; words > 0; words--, x += 4) tw_x_store(x, masked(tw_x_load(x), word++));
#endif
}

static TW_COMPACT void mask_rest(const uint32_t *masks, const TW_M *m, uint8_t *x, int32_t count) {
  for (; count > 0; count--, x++) {
    const uint32_t entry = masks_of(masks)[*m++];
    const mask_word word = {entry & 0xff, entry >> 8 & 0xff, entry >> 16 & 0xff};
    *x = (uint8_t)masked(*x, &word);
  }
}

/* Where words have no room they are made for each head again. */
static TW_COMPACT void mask_many(const uint32_t *masks, const mask_row *row, uint8_t *x, int32_t words) {
  for (int32_t column = row->plain; words > 0; words--, column += 4) {
    const mask_word word = word_of(masks_of(masks), row->bytes + column);
    tw_x_store(x + column, masked(tw_x_load(x + column), &word));
  }
}

/* The scores of all loud columns. */
static inline void mask_loud(const uint32_t *masks, const mask_row *row, uint8_t *x) {
  const int32_t words = words_of(row), rest = (row->loud - row->plain) & 3;
  if (words > row->most) {
    mask_many(masks, row, x, words);
  } else {
    mask_words(row->words, x + row->plain, words);
  }
  if (rest) mask_rest(masks, row->bytes + row->loud - rest, x + row->loud - rest, rest);
}

/* Masks this core's part of a table of scores. */
static inline void mask_table(const mask_word *word, const uint8_t *scores, uint8_t *to, int32_t words) {
  const tw_share share = tw_share_of(words);
  for (int32_t i = 4 * share.first; i < 4 * share.end; i += 4) tw_x_store(to + i, masked(tw_x_load(scores + i), word));
}

/* All cores together: the table for the byte that the first row ends with, which is that of quiet columns if any are. */
static TW_COMPACT alike_columns set_alike(const uint32_t *masks, const TW_M *m, int32_t columns, const uint8_t *scores,
                                          int32_t words, uint8_t *table) {
  const TW_M byte = m[columns - 1];
  const alike_columns alike = {byte, (int32_t)(masks_of(masks)[byte] >> 24), table};
  if (byte) {
    const TW_M four[4] = {byte, byte, byte, byte};
    const mask_word word = word_of(masks_of(masks), four);
    mask_table(&word, scores, table, words);
    tw_barrier();
  }
  return alike;
}

#endif
