/* y = requant(a function of x by a table, linear between its values); all cores together */
#include "qlinearfunction.h"

#ifndef TW_NAME
#define TW_NAME tw_qlinearfunction_shared_i8
#define TW_Y int8_t
#endif

#include "cluster.h"
#include "lanes.h"
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

#if TW_XPULP
#define TW_A_NEXT_HALF(d) ".insn i 0x0b, 1, " d ", %[x], 2\n"
#define TW_A_ADDRESS(d, x) "sra " d ", " x ", %[bits]\nslli " d ", " d ", 2\n"
#define TW_A_VALUES(first, next) TW_A_WORD_AT(first, "%[table]", next) TW_A_WORD_AT(next, "%[after]", next)
#define TW_A_SLOPE(x, first, next) "and " x ", " x ", %[rest]\nsub " next ", " next ", " first "\n"
#define TW_A_TOTAL(x, first, next) "sll " first ", " first ", %[bits]\n" TW_A_R(TW_E_MAC, first, next, x)
#define TW_A_ROUNDED(d) "sra " d ", " d ", %[shift]\n" TW_A_R(TW_E_ADDN, d, "%[add]", "%[one]") TW_A_CLIP_BYTE(d, "%[high]")
#define TW_A_STORE(d) ".insn s 0x2b, %[store], " d ", %[bytes](%[y])\n"

/* Ties go up: two elements at a time, so that nothing waits for a load. */
static inline void values_of_pairs(const function *f, const int16_t *x, TW_Y *y, int32_t pairs) {
  const int is_signed = (TW_Y)-1 < 0;
  const int32_t high = (int32_t)(1u << (8 * sizeof(TW_Y) - (is_signed ? 1 : 0))) - 1;
  const int32_t *const table = f->table + (-INT16_MIN >> f->bits);
  int32_t x0, x1, first0, first1, next0, next1;
  __asm__ volatile(
      TW_A_BEGIN TW_A_LOOP("%[pairs]", 26) TW_A_NEXT_HALF("%[x0]") TW_A_NEXT_HALF("%[x1]")
      TW_A_ADDRESS("%[next0]", "%[x0]") TW_A_ADDRESS("%[next1]", "%[x1]")
      TW_A_VALUES("%[first0]", "%[next0]") TW_A_VALUES("%[first1]", "%[next1]")
      TW_A_SLOPE("%[x0]", "%[first0]", "%[next0]") TW_A_SLOPE("%[x1]", "%[first1]", "%[next1]")
      TW_A_TOTAL("%[x0]", "%[first0]", "%[next0]") TW_A_TOTAL("%[x1]", "%[first1]", "%[next1]")
      TW_A_ROUNDED("%[first0]") TW_A_ROUNDED("%[first1]") TW_A_STORE("%[first0]") TW_A_STORE("%[first1]") TW_A_END
      : [x] "+r"(x), [y] "+r"(y), [x0] "=&r"(x0), [x1] "=&r"(x1), [first0] "=&r"(first0), [first1] "=&r"(first1),
        [next0] "=&r"(next0), [next1] "=&r"(next1)
      : [pairs] "r"(pairs), [table] "r"(table), [after] "r"(table + 1), [bits] "r"(f->bits), [rest] "r"(f->rest),
        [shift] "r"(f->shift), [add] "r"(1 + 2 * f->zero), [one] "r"(1), [high] "r"(high),
        [clip] "i"(is_signed ? TW_I_CLIP : TW_I_CLIPU), [store] "i"(sizeof(TW_Y) >> 1), [bytes] "i"(sizeof(TW_Y))
      : "memory");
}
#endif

void TW_NAME(const tw_qlinearfunction_params *params, const int16_t *x, const int32_t *table, TW_Y *y) {
  const tw_share share = tw_share_of(params->count);
  const function f = function_of(params, table);
  int32_t count = share.end - share.first;
  x += share.first, y += share.first;
#if TW_XPULP
  if (!f.even && count >= 2) {
    const int32_t done = count & ~1;
    values_of_pairs(&f, x, y, done >> 1);
    x += done, y += done, count -= done;
  }
#endif
  for (; count > 0; count--) {
    const int32_t given = TW_NEXT(int16_t, x, 2);
    TW_STORE_NEXT(TW_Y, y, value_of(&f, given), sizeof(TW_Y));
  }
}
