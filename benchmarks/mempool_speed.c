/* The load of MemPool's speed benchmark: an int8 matrix product with a 4x2 kernel (6 loads, 8 dot products) in L1, on all cores, over
 * and over. Rows lie there twice, so that cores begin at different columns and seldom meet in a bank. */
#include "mempool.h"

enum { K = 128, PITCH = 2 * K + 4, ROWS = 128, COLUMNS = 64 };
#ifndef ROUNDS
#define ROUNDS 20
#endif
static L1 signed char w[ROWS * PITCH], x[COLUMNS * PITCH], y[ROWS * COLUMNS];
static L1 volatile unsigned arrived;

static void kernel(const signed char *w0, const signed char *x0, int *out) {
    const signed char *w1 = w0 + PITCH, *w2 = w0 + 2 * PITCH, *w3 = w0 + 3 * PITCH, *x1 = x0 + PITCH, *end = w0 + K;
    int a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    __asm__ volatile(
        "1:\n"
        ".insn i 0x0b, 2, t0, %0, 4\n.insn i 0x0b, 2, t1, %1, 4\n.insn i 0x0b, 2, t2, %2, 4\n.insn i 0x0b, 2, t3, %3, 4\n"
        ".insn i 0x0b, 2, t4, %4, 4\n.insn i 0x0b, 2, t5, %5, 4\n"
        ".insn r 0x57, 1, 0x5c, %6, t4, t0\n.insn r 0x57, 1, 0x5c, %7, t4, t1\n"
        ".insn r 0x57, 1, 0x5c, %8, t4, t2\n.insn r 0x57, 1, 0x5c, %9, t4, t3\n"
        ".insn r 0x57, 1, 0x5c, %10, t5, t0\n.insn r 0x57, 1, 0x5c, %11, t5, t1\n"
        ".insn r 0x57, 1, 0x5c, %12, t5, t2\n.insn r 0x57, 1, 0x5c, %13, t5, t3\n"
        "bne %0, %14, 1b\n"
        : "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3), "+r"(x0), "+r"(x1), "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(b0), "+r"(b1),
          "+r"(b2), "+r"(b3)
        : "r"(end)
        : "t0", "t1", "t2", "t3", "t4", "t5", "memory");
    out[0] = a0, out[1] = a1, out[2] = a2, out[3] = a3, out[4] = b0, out[5] = b1, out[6] = b2, out[7] = b3;
}

static signed char requantise(int a) {
    a = (a * 77 + (1 << 14)) >> 15;
    return (signed char)(a < -128 ? -128 : a > 127 ? 127 : a);
}

int core_main(unsigned core, unsigned cores) {
    for (int round = 0; round < ROUNDS; round++) {
        barrier(&arrived, cores);
        for (unsigned block = core; block < ROWS / 4 * (COLUMNS / 2); block += cores) {
            const unsigned m = block % (ROWS / 4) * 4, n = block / (ROWS / 4) * 2;
            int sums[8];
            const unsigned first = core * 4 % K;
            kernel(w + m * PITCH + first, x + n * PITCH + first, sums);
            for (int i = 0; i < 8; i++) y[(n + i / 4) * ROWS + m + i % 4] = requantise(sums[i]);
        }
    }
    barrier(&arrived, cores);
    return 0;
}
