/* Core 0 lets the engine at 0x30000000 multiply two vectors, sleeps until its event, and leaves result and time behind. */
#define REG(address) (*(volatile unsigned *)(address))
enum { N = 64 };
volatile unsigned result, cycles;

static unsigned now(void) {
    unsigned value;
    __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
    return value;
}

int cluster_main(unsigned core) {
    if (core != 0) return 0;
    for (unsigned i = 0; i < N; i++) {
        REG(0x10000000u + 4 * i) = i;
        REG(0x10001000u + 4 * i) = i + 1;
    }
    unsigned value, began = now();
    REG(0x10204008u) = 1u << 5;
    REG(0x30000000u) = 0x10000000u;
    REG(0x30000004u) = 0x10001000u;
    REG(0x30000008u) = N;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0x3c" : "=r"(value) : "r"(0x10204000u) : "memory");
    cycles = now() - began;
    result = REG(0x3000000cu);
    return REG(0x30000010u) ? 1 : 0;
}
