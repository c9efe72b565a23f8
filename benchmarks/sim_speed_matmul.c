/* The load of the speed benchmark: an int8 matrix product with a 4x2 kernel (6 loads, 8 dot products, hardware loop) in L1,
 * on as many cores as CORES says, over and over. */
#define L1 0x10000000u
#ifndef CORES
#define CORES 8
#endif
enum { M = 64, N = 32, K = 128, PITCH = K + 4, ROUNDS = 40 };

static void barrier(void) {
    unsigned value;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0x21c" : "=r"(value) : "r"(0x10204000u) : "memory");
}

static void kernel(unsigned w, unsigned x, int *out) {
    unsigned w1 = w + PITCH, w2 = w + 2 * PITCH, w3 = w + 3 * PITCH, x1 = x + PITCH, n = K / 4;
    int a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    __asm__ volatile(
        ".option push\n.option norvc\n.balign 4\n"
        ".insn i 0x7b, 4, x0, %14, 28\n"
        ".insn i 0x0b, 2, t0, %0, 4\n.insn i 0x0b, 2, t1, %1, 4\n.insn i 0x0b, 2, t2, %2, 4\n.insn i 0x0b, 2, t3, %3, 4\n"
        ".insn i 0x0b, 2, t4, %4, 4\n.insn i 0x0b, 2, t5, %5, 4\n"
        ".insn r 0x57, 1, 0x5c, %6, t4, t0\n.insn r 0x57, 1, 0x5c, %7, t4, t1\n"
        ".insn r 0x57, 1, 0x5c, %8, t4, t2\n.insn r 0x57, 1, 0x5c, %9, t4, t3\n"
        ".insn r 0x57, 1, 0x5c, %10, t5, t0\n.insn r 0x57, 1, 0x5c, %11, t5, t1\n"
        ".insn r 0x57, 1, 0x5c, %12, t5, t2\n.insn r 0x57, 1, 0x5c, %13, t5, t3\n"
        ".option pop\n"
        : "+r"(w), "+r"(w1), "+r"(w2), "+r"(w3), "+r"(x), "+r"(x1), "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(b0), "+r"(b1),
          "+r"(b2), "+r"(b3)
        : "r"(n)
        : "t0", "t1", "t2", "t3", "t4", "t5", "memory");
    out[0] = a0, out[1] = a1, out[2] = a2, out[3] = a3, out[4] = b0, out[5] = b1, out[6] = b2, out[7] = b3;
}

static signed char requantise(int a) {
    a = (a * 77 + (1 << 14)) >> 15;
    return (signed char)(a < -128 ? -128 : a > 127 ? 127 : a);
}

static void rows(unsigned first, unsigned last) {
    for (unsigned n = first; n < last; n += 2)
        for (unsigned m = 0; m < M; m += 4) {
            int sums[8];
            kernel(L1 + m * PITCH, L1 + 0x10000u + n * PITCH, sums);
            signed char *y = (signed char *)(L1 + 0x18000u + n * M + m);
            for (int i = 0; i < 8; i++) y[i / 4 * M + i % 4] = requantise(sums[i]);
        }
}

int cluster_main(unsigned core) {
    const unsigned share = N / CORES;
    for (int round = 0; round < ROUNDS; round++) {
        barrier();
        if (core < CORES) rows(core * share, (core + 1) * share);
    }
    barrier();
    return 0;
}
