/* Core 0 gives the DMA the commands that the test has put into `words`, all with one transfer id, and sleeps until
 * it is told of their end. */
#define REG(address) (*(volatile unsigned *)(address))
enum { EVENTS = 0x10204000, COMMAND = 0x10204400, STATUS = COMMAND + 4, LINE = 1 << 8 };
volatile unsigned count, words[64], id, busy = 1;

static void sleep(void) {
    unsigned value;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0x3c" : "=r"(value) : "r"(EVENTS) : "memory");
}

int cluster_main(unsigned core) {
    if (core) return 0;
    REG(EVENTS) = LINE;
    id = REG(COMMAND);
    for (unsigned i = 0; i < count; i++) REG(COMMAND) = words[i];
    sleep();
    busy = REG(STATUS) >> id & 1;
    REG(STATUS) = 1u << id;
    return 0;
}
