/* What programs for MemPool have in common: registers, the barrier, printing. */
#ifndef MEMPOOL_H
#define MEMPOOL_H

#define WAKE (*(volatile unsigned *)0x40000004)
#define UART (*(volatile unsigned *)0xc0000000)
#define L1 __attribute__((section(".l1"), aligned(64)))

static inline unsigned cycle(void) {
    unsigned value;
    __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
    return value;
}

static inline unsigned fetch_add(volatile unsigned *at, unsigned value) {
    unsigned old;
    __asm__ volatile("amoadd.w %0, %2, (%1)" : "=r"(old) : "r"(at), "r"(value) : "memory");
    return old;
}

static inline void fence(void) { __asm__ volatile("fence" ::: "memory"); }
static inline void sleep(void) { __asm__ volatile("wfi" ::: "memory"); }

/* One counter for all; it is 0 before and afterwards. */
static inline void barrier(volatile unsigned *arrived, unsigned cores) {
    fence();
    if (fetch_add(arrived, 1) == cores - 1) {
        *arrived = 0;
        fence();
        WAKE = ~0u;
    }
    sleep();
}

static inline void print(const char *text) {
    while (*text) UART = (unsigned char)*text++;
}

#endif
