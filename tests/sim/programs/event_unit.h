/* What programs of a cluster's cores share: registers, sleeping loads of the event unit, the cycle counter. */
#define REG(address) (*(volatile unsigned *)(address))

static unsigned event_load(unsigned address) {
    unsigned result;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(result) : "r"(address) : "memory");
    return result;
}

static unsigned now(void) {
    unsigned cycle;
    __asm__ volatile("csrr %0, 0xb00" : "=r"(cycle) : : "memory");
    return cycle;
}
