/* All cores meet, and count what it takes; then they add up numbers in L1 that the first one had the DMA bring. */
#include "mempool.h"

enum { WORDS = 4096 };
#define DMA(offset) (*(volatile unsigned *)(0x40010000 + (offset)))
static L1 volatile unsigned arrived, total;
static L1 unsigned numbers[WORDS];
static unsigned source[WORDS] = {1};
volatile unsigned took, sum, copy_took;

static void copy(void *to, const void *from, unsigned bytes) {
    DMA(0) = (unsigned)from, DMA(4) = (unsigned)to, DMA(8) = bytes;
    fence();
    unsigned begin = cycle(), id = DMA(0x14);
    __asm__ volatile("" ::"r"(id));
    while (!DMA(0x18)) {}
    copy_took = cycle() - begin;
}

int core_main(unsigned core, unsigned cores) {
    if (core == 0) {
        for (unsigned i = 0; i < WORDS; i++) source[i] = i * i;
        fence();
        copy(numbers, source, sizeof numbers);
    }
    barrier(&arrived, cores);
    barrier(&arrived, cores);
    unsigned begin = cycle();
    barrier(&arrived, cores);
    if (core == 1) took = cycle() - begin;
    unsigned mine = 0;
    for (unsigned i = core; i < WORDS; i += cores) mine += numbers[i];
    fetch_add(&total, mine);
    barrier(&arrived, cores);
    if (core == 0) {
        sum = total;
        print("all met\n");
#ifdef STUCK
        barrier(&arrived, cores);
#endif
    }
    return 5;
}
