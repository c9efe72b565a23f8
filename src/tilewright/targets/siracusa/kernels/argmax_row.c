/* y = where in a row the largest x is, the first of equals; all cores together */
#include "extreme.h"

#ifndef TW_NAME
#define TW_NAME tw_argmax_row_i16
#define TW_X int16_t
#endif

#include "cluster.h"
#include "xpulp.h"

typedef struct {
  int32_t value, at;
} best;

static inline int32_t largest(const TW_X *x, tw_share share) {
  int32_t even = INT32_MIN, odd = INT32_MIN, i = share.first;
  for (; i + 4 <= share.end; i += 4) {
    const int32_t a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
    even = tw_x_max(tw_x_max(even, a), c);
    odd = tw_x_max(tw_x_max(odd, b), d);
  }
  for (; i < share.end; i++) even = tw_x_max(even, x[i]);
  return tw_x_max(even, odd);
}

/* Which of the elements is the first with a value, that one of them has. */
static inline int32_t first_with(int32_t value, const TW_X *x, int32_t i) {
  for (;; i += 4) {
    const int32_t a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
    if (a == value) return i;
    if (b == value) return i + 1;
    if (c == value) return i + 2;
    if (d == value) return i + 3;
  }
}

void TW_NAME(const tw_extreme_params *params, const TW_X *x, int64_t *y, void *scratch) {
  volatile best *const all = scratch;
  const tw_share share = tw_share_of(params->length);
  const int32_t own = largest(x, share);
  all[tw_core()].value = own;
  all[tw_core()].at = share.first;
  tw_barrier();
  if (tw_core() != 0) return;
  best first = {own, share.first};
  for (int32_t core = 1; core < TW_CORES; core++) {
    const int32_t value = all[core].value;
    if (value > first.value) {
      first.value = value;
      first.at = all[core].at;
    }
  }
  y[0] = first_with(first.value, x, first.at);
}
