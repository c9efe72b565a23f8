/* y = out(first(a) + second(b)) of bytes, each of the three a requantisation; broadcast; all cores together. Three tables
 * hold what becomes of every a, every b and every sum: worth it where there are many more elements than entries. */
#include "requantizedadd_bytes.h"

#ifndef TW_NAME
#define TW_NAME tw_requantizedadd_tables_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"

/* Entries count from the smallest value of a type, so that pointers are moved to the entry of 0. */
typedef struct {
  const uint8_t *first, *second, *out;
  int32_t low; /* what is added to results: nothing, it is in the table */
} tables;

static inline int32_t add(const tables *t, int32_t a, int32_t b, int even) {
  (void)even;
  return tw_x_byte_at(t->out, tw_x_byte_at(t->first, a) + tw_x_byte_at(t->second, b));
}

TW_BYTE_BINARY_ROW(row_of, tables, add, 0)

static TW_COMPACT void set_table(const tw_narrowing *stage, int32_t lowest, int32_t low, int32_t count, uint8_t *to) {
  const tw_share share = tw_share_of(count);
  for (int32_t i = share.first; i < share.end; i++) {
    const int32_t x = i + lowest;
    to[i] = (uint8_t)(low + (stage->even ? tw_narrowed(stage, x, 1) : tw_narrowed(stage, x, 0)));
  }
}

void TW_NAME(const tw_requantizedadd_bytes_params *params, const TW_A *a, const TW_B *b, TW_Y *y, void *scratch) {
  const int32_t lowest_a = (TW_A)-1 < 0 ? -128 : 0, lowest_b = (TW_B)-1 < 0 ? -128 : 0;
  uint8_t *const first = scratch, *const second = first + 256, *const out = second + 256;
  set_table(&params->first, lowest_a, 0, 256, first);
  set_table(&params->second, lowest_b, 0, 256, second);
  set_table(&params->out, 0, params->low, params->first.top + params->second.top + 1, out);
  tw_barrier();
  const tables t = {first - lowest_a, second - lowest_b, out, 0};
  TW_BYTE_BINARY_ROWS(row_of, &t, &params->loops, a, b, y);
}
