/* y = c ? a : b, broadcast; all cores together */
#include "alone.h"
#include "bytes4.h"
#include "share_of_run.h"
#include "ternary.h"
#include "walk_from.h"

/* Four at a time, loaded before any of them is stored: a load's result is not there at once. */
static inline __attribute__((always_inline)) void copy_run(const TW_A *from, int32_t step, TW_A *y, int32_t n) {
  if (sizeof *y == 4) {
    tw_copy_words((uint8_t *)y, 4, (const uint8_t *)from, 4 * step, n);
    return;
  }
  for (; n >= 4; n -= 4, from += 4 * step, y += 4) {
    const TW_A x0 = from[0], x1 = from[step], x2 = from[2 * step], x3 = from[3 * step];
    y[0] = x0, y[1] = x1, y[2] = x2, y[3] = x3;
  }
  for (; n > 0; n--, from += step) *y++ = *from;
}

typedef struct {
  int32_t c, a, b;
} steps;

/* One choice for all elements is a copy. */
static __attribute__((noinline)) void one_row(steps on, const uint8_t *c, const TW_A *a, const TW_A *b, TW_A *y, int32_t n) {
  if (on.c == 0) {
    const TW_A *const from = *c ? a : b;
    const int32_t step = *c ? on.a : on.b;
    if (step == 1) {
      copy_run(from, 1, y, n);
    } else {
      copy_run(from, step, y, n);
    }
    return;
  }
  for (; n > 0; n--, c += on.c, a += on.a, b += on.b) {
    const TW_A first = *a, second = *b;
    *y++ = *c ? first : second;
  }
}

/* Each core takes some of the rows, or a part of each where they are few. */
void TW_NAME(const tw_ternary_params *params, const uint8_t *c, const TW_A *a, const TW_A *b, TW_A *y) {
  const int32_t last = params->rank - 1, n = params->size[last], count = tw_walk_length(last, params->size);
  const int is_few = count < 4 * TW_CORES;
  const steps on = {params->stride_c[last], params->stride_a[last], params->stride_b[last]};
  const tw_share rows = is_few ? (tw_share){0, count} : tw_share_of(count);
  const tw_share part = is_few ? tw_share_of_run(n, sizeof(TW_A)) : (tw_share){0, n};
  int32_t at_c[TW_MAX_RANK], at_a[TW_MAX_RANK], at_b[TW_MAX_RANK];
  if (rows.first >= rows.end || part.first >= part.end) return;
  int32_t of_c = tw_walk_from(last, params->size, params->stride_c, rows.first, at_c);
  int32_t of_a = tw_walk_from(last, params->size, params->stride_a, rows.first, at_a);
  int32_t of_b = tw_walk_from(last, params->size, params->stride_b, rows.first, at_b);
  c += part.first * on.c, a += part.first * on.a, b += part.first * on.b, y += part.first;
  for (int32_t row = rows.first; row < rows.end; row++) {
    one_row(on, c + of_c, a + of_a, b + of_b, y + row * n, part.end - part.first);
    tw_walk(last, params->size, params->stride_c, at_c, &of_c);
    tw_walk(last, params->size, params->stride_a, at_a, &of_a);
    tw_walk(last, params->size, params->stride_b, at_b, &of_b);
  }
}
