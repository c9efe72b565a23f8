/* y = where in a row the largest x is, the first of equals; all cores together */
#include "extreme.h"

#ifndef TW_NAME
#define TW_NAME tw_argmax_row_i16
#define TW_X int16_t
#endif

#include "cluster.h"
#include "dot.h"

typedef struct {
  int32_t value, at;
} best;

#define LANES (4 / (int32_t)sizeof(TW_X))
#define IS_SIGNED ((TW_X)-1 < 0)

static inline int32_t largest_of(const TW_X *x, int32_t count, int32_t so_far) {
  for (int32_t i = 0; i < count; i++) so_far = tw_x_max(so_far, x[i]);
  return so_far;
}

#if TW_XPULP
/* Of words of two or four elements, lane by lane: an even number of them, not none. */
static inline uint32_t largest_lanes(const TW_X *x, int32_t words) {
  uint32_t lanes = tw_x_load(x), first, second;
  int32_t pairs = words >> 1;
  __asm__ volatile(TW_A_BEGIN TW_A_LOOP("%[pairs]", 4) TW_A_LW("%[first]", "%[x]", "4") TW_A_LW("%[second]", "%[x]", "4")
                   ".insn r " TW_E_DOT_OPCODE ", %[bytes], %[max], %[lanes], %[lanes], %[first]\n"
                   ".insn r " TW_E_DOT_OPCODE ", %[bytes], %[max], %[lanes], %[lanes], %[second]\n" TW_A_END
                   : [x] "+r"(x), [lanes] "+r"(lanes), [first] "=&r"(first), [second] "=&r"(second)
                   : [pairs] "r"(pairs), [bytes] "i"(LANES == 4), [max] "i"(IS_SIGNED ? 0x18 : 0x1c)
                   : "memory");
  return lanes;
}
#endif

static inline int32_t largest(const TW_X *own, int32_t count) {
  int32_t done = 0, found = INT32_MIN;
#if TW_XPULP
  if (LANES > 1 && count >= 2 * LANES) {
    const int32_t words = count / LANES & ~1;
    const uint32_t lanes = largest_lanes(own, words);
    TW_X each[LANES];
    __builtin_memcpy(each, &lanes, sizeof each);
    found = largest_of(each, LANES, found);
    done = words * LANES;
  }
#endif
  return largest_of(own + done, count - done, found);
}

/* Elements among which the place of the largest is looked for at the end: few, as that is one core's work. */
#define BLOCK 512

/* With the beginning of the first block that has it. */
static inline best best_of(const TW_X *x, tw_share share) {
  best found = {INT32_MIN, share.first};
  for (int32_t i = share.first; i < share.end; i += BLOCK) {
    const int32_t value = largest(x + i, tw_x_min(BLOCK, share.end - i));
    if (value <= found.value) continue;
    found.value = value;
    found.at = i;
  }
  return found;
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
  best first = best_of(x, share);
  all[tw_core()].value = first.value;
  all[tw_core()].at = first.at;
  tw_barrier();
  if (tw_core() != 0) return;
  for (int32_t core = 1; core < TW_CORES; core++) {
    const int32_t value = all[core].value;
    if (value > first.value) {
      first.value = value;
      first.at = all[core].at;
    }
  }
  y[0] = first_with(first.value, x, first.at);
}
