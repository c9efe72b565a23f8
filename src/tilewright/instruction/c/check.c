/* Random operands for the semantics of an instruction, compiled so that what C leaves undefined traps; and the same for a pattern of
 * kernels, where it implements one. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "semantics.h"

typedef struct {
  uint32_t is_undefined, differs, rd, rs1, rs2, imm, got, wanted;
} found;

__attribute__((visibility("default"))) void tw_check(uint32_t trials, found *f);

static sigjmp_buf before;

static void leave(int number) {
  (void)number;
  siglongjmp(before, 1);
}

static uint32_t next(uint32_t *state) {
  uint32_t x = *state;
  x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  return *state = x;
}

/* Any word, small numbers, words that begin at an end of their range, powers of two, bytes and halfwords at their ends. */
static uint32_t operand(uint32_t *state) {
  static const uint32_t CORNERS[] = {0, 1, ~0u, 0x7fffffff, 0x80000000, 0x80808080, 0x7f7f7f7f, 0x80008000, 0x7fff7fff, 32, 31, 255};
  const uint32_t kind = next(state) >> 8 & 7, word = next(state);
  if (kind == 0) return CORNERS[word % (sizeof CORNERS / sizeof *CORNERS)];
  if (kind == 1) return (uint32_t)((int32_t)(word & 255) - 128);
  if (kind == 2) return 1u << (word & 31);
  if (kind == 3) return 0x7fffffffu - (word & 255);
  return kind == 4 ? word >> (word & 31) : word;
}

static uint32_t immediate(uint32_t *state) {
  const uint32_t word = next(state);
  return IMMEDIATE_BITS == 5 ? word & 31 : IMMEDIATE_BITS == 12 ? (word & 4095) - 2048 : 0;
}

static void try_all(uint32_t trials, volatile found *f) {
  uint32_t state = 2463534242u;
  for (uint32_t i = 0; i < trials && !f->differs; i++) {
    const uint32_t rd = operand(&state), rs1 = operand(&state), rs2 = operand(&state), imm = immediate(&state);
    f->rd = rd, f->rs1 = rs1, f->rs2 = rs2, f->imm = imm;
    f->got = tw_semantics(rd, rs1, rs2, imm);
#ifdef WANTED
    if (!(TAKES)) continue;
    f->wanted = WANTED;
    f->differs = f->wanted != f->got;
#endif
  }
}

void tw_check(uint32_t trials, found *f) {
  struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER}, ill, trap, division;
  sigaction(SIGILL, &action, &ill);
  sigaction(SIGTRAP, &action, &trap);
  sigaction(SIGFPE, &action, &division);
  if (sigsetjmp(before, 1)) f->is_undefined = 1;
  else try_all(trials, f);
  sigaction(SIGILL, &ill, NULL);
  sigaction(SIGTRAP, &trap, NULL);
  sigaction(SIGFPE, &division, NULL);
}
