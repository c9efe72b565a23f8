/* y = requant(a function of x by a table, linear between its values); all cores together */
#include "qlinearfunction.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearfunction_shared_i8
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "next_element.h"

typedef struct {
  const int32_t *table;
  int32_t bits, rest, shift, below, half, even, zero;
} function;

/* Whoever made the table saw to it that the total fits 32 bits; with half it need not. */
static inline int32_t value_of(const function *f, int32_t x) {
  const int32_t above = x - INT16_MIN;
  const int32_t *const values = f->table + (above >> f->bits);
  const int32_t first = values[0];
  const int32_t total = tw_x_mac((int32_t)((uint32_t)first << f->bits), values[1] - first, above & f->rest);
  int32_t value = ((total >> f->shift) + 1) >> 1;
  if (TW_COLD((total & f->below) == f->half)) value -= value & f->even;
  return TW_CLIP_TO(TW_Y, value + f->zero);
}

/* One bit less than the shift is left for rounding. */
static inline function function_of(const tw_qlinearfunction_params *p, const int32_t *table) {
  const tw_requant *const r = &p->requant;
  const int32_t half = 1 << (r->shift - 1), even = r->rounding == TW_HALF_EVEN;
  const function f = {table, p->bits, (1 << p->bits) - 1, r->shift - 1, 2 * half - 1, half, even, r->zero_point};
  return f;
}

void TW_NAME(const tw_qlinearfunction_params *params, const int16_t *x, const int32_t *table, TW_Y *y) {
  const tw_share share = tw_share_of(params->count);
  const function f = function_of(params, table);
  int32_t count = share.end - share.first;
  x += share.first, y += share.first;
#define TW_ONE                                                                  \
  do {                                                                          \
    const int32_t given = TW_NEXT(int16_t, x, 2);                               \
    TW_STORE_NEXT(TW_Y, y, value_of(&f, given), sizeof(TW_Y));                  \
  } while (0)
  for (; count >= 2; count -= 2) {
    TW_ONE;
    TW_ONE;
  }
  if (count > 0) TW_ONE;
#undef TW_ONE
}
