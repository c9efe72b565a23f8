/* Uses ITA's registers as the test says; what it keeps, the test reads. */
#define R(offset) (*(volatile unsigned *)(0x10040000 + (offset)))
#define VIEW(offset) (*(volatile unsigned *)(0x100201a0 + (offset)))
#define EVENTS(offset) (*(volatile unsigned *)(0x30000000 + (offset)))
#define KEEP(value) (found[count++] = (value))
unsigned found[16], count;

/* A product of one tile, of whatever lies in memory. */
static inline void place(void) {
    R(0x20) = 0, R(0x24) = 4096, R(0x28) = 0, R(0x30) = 8192;
    R(0x38) = 0x1111, R(0x54) = 2, R(0x58) = 5;
}

static inline void job(void) {
    place();
    R(0) = 0;
}

static inline void drain(void) {
    while (R(0x0c)) {}
}

static inline void pause(int rounds) {
    for (volatile int i = 0; i < rounds; i++) {}
}

static inline void sleep(void) {
    unsigned value;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(value) : "r"(0x3000003c) : "memory");
}

int main(void) {
    EVENTS(8) = 1 << 12;
    DO;
    return 0;
}
