/* Sums of products of bytes by the instructions that a processor has: blocks of TW_ROWS rows and TW_COLUMNS columns.
 *
 * Weights are packed as [four][column][4]: four bytes of each column side by side; with TW_DOT_WIDENING as [four][4][column].
 */
#ifndef TW_DOT_H
#define TW_DOT_H

#include <stdint.h>
#include <string.h>

#include "dot_ways.h"
#include "then.h"

#define TW_ALWAYS static inline __attribute__((always_inline))
#define TW_APART static __attribute__((noinline))
#if defined(__clang__)
#define TW_UNROLLED _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define TW_UNROLLED _Pragma("GCC unroll 8")
#else
#define TW_UNROLLED
#endif

/* A pointer of which the compiler knows nothing from here on: what it points to is read again, not kept in registers. */
#define TW_FORGOTTEN(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

/* Kernels for roundings without exponents have no code for the ways of those that have them. */
#ifdef TW_HAS_EXPONENTS
#define TW_HAS_DOUBLE_WAYS TW_HAS_EXPONENTS
#else
#define TW_HAS_DOUBLE_WAYS 1
#endif

#define TW_AHEAD 2048 /* bytes before weights are needed that they are asked for, where one row reads them */
#define TW_LINE 64    /* bytes that come at once */

/* The place of a column's byte among those for four elements. */
#if defined(TW_DOT_WIDENING)
#define TW_PLACE(column, element) ((element) * TW_COLUMNS + (column))
#else
#define TW_PLACE(column, element) (4 * (column) + (element))
#endif

#define TW_IS_UNSIGNED(type) ((type)-1 > (type)0)

#if defined(TW_DOT_SDOT) || defined(TW_DOT_SMMLA)
#include "dot_neon.h"
#else
#include "dot_portable.h"
#endif

/* Products are added to totals as this leaves them; once more, and they are rows again. */
#if !defined(TW_DOT_SMMLA)
#define tw_turn_pairs(rows, t) ((void)0)
#endif

/* Rows of bytes from rows of totals, one of the ways of which TW_IS_NEAR: totals stay in registers. */
TW_ALWAYS void tw_scale_near(tw_way way, int rows, const tw_scaler *s, const tw_factors *f, int is_unsigned,
                             const tw_sums *t, void *y, int64_t pitch) {
  if (!TW_HAS_DOUBLE_WAYS || way == TW_NEAR_WAY) {
    tw_scale_rows(TW_NEAR_WAY, rows, s, f, is_unsigned, t, y, pitch);
  } else if (way == TW_NEAR_DOUBLE_UP_WAY) {
    tw_scale_rows(TW_NEAR_DOUBLE_UP_WAY, rows, s, f, is_unsigned, t, y, pitch);
  } else {
    tw_scale_rows(TW_NEAR_DOUBLE_WAY, rows, s, f, is_unsigned, t, y, pitch);
  }
}

/* The same, and then once more. */
TW_ALWAYS void tw_scale_near_twice(tw_way way, int rows, const tw_scaler *s, const tw_factors *f,
                                   const tw_then_scaler *then, const tw_then_factors *again, int is_unsigned,
                                   const tw_sums *t, const void *added, void *y, int64_t pitch) {
  if (!TW_HAS_DOUBLE_WAYS || way == TW_NEAR_WAY) {
    tw_scale_twice(TW_NEAR_WAY, rows, s, f, then, again, is_unsigned, t, added, y, pitch);
  } else if (way == TW_NEAR_DOUBLE_UP_WAY) {
    tw_scale_twice(TW_NEAR_DOUBLE_UP_WAY, rows, s, f, then, again, is_unsigned, t, added, y, pitch);
  } else {
    tw_scale_twice(TW_NEAR_DOUBLE_WAY, rows, s, f, then, again, is_unsigned, t, added, y, pitch);
  }
}

#endif
