/* The sum of two tensors of bytes as TensorFlow Lite has it; broadcast; all cores together. What becomes of one operand
 * stands in a table, or of both; then both roundings of the sum are one (neureka/finish.py says why). */
#include "tfliteadd_tables.h"

#ifndef TW_NAME
#define TW_NAME tw_tfliteadd_tables_i8
#define TW_A int8_t
#define TW_B int8_t
#define TW_Y int8_t
#endif

#include "byte_binary.h"

typedef struct {
  const int32_t *first, *second; /* at the entries of 0 */
  int32_t mul, less, summand, shift, top, low;
} tables;

static inline int32_t add(const tables *t, int32_t a, int32_t b, int even) {
  const int32_t sum = t->first[a] + t->second[b];
  const int32_t high = tw_x_mac((int32_t)((int64_t)sum * t->mul >> 32), sum >> 31, t->less);
  (void)even;
  return tw_x_clipu(tw_x_addn(high, (uint32_t)t->summand, (uint32_t)t->shift), t->top);
}

static inline int32_t add_once(const tables *t, int32_t a, int32_t b, int even) {
  (void)even;
  return tw_x_clipu(tw_x_mac(t->first[a], b, t->mul) >> t->shift, t->top);
}

TW_BYTE_BINARY_ROW(row_of, tables, add, 0)
TW_BYTE_BINARY_ROW(row_of_once, tables, add_once, 0)

void TW_NAME(const tw_tfliteadd_tables_params *params, const TW_A *a, const TW_B *b, TW_Y *y) {
  const tw_tfliteadd_tables_params *const p = params;
  const tables t = {p->first + 128 * ((TW_A)-1 < 0), p->second + 128 * ((TW_B)-1 < 0), p->mul, p->less, p->summand,
                    p->shift, p->top, p->low};
  if (p->once) {
    TW_BINARY_ROWS(row_of_once, &t, &p->loops, a, b, y);
  } else {
    TW_BINARY_ROWS(row_of, &t, &p->loops, a, b, y);
  }
}
