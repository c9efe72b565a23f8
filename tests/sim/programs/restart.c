/* Core 0 stops core 1, which sleeps in the dispatcher (or itself, with ITSELF), starts it again, and gives it work before it asks. It
 * enables every core that there might be: those of other groups must not notice. */
#define REG(address) (*(volatile unsigned *)(address))
enum { EVENTS = 0x10204000, DISPATCH = EVENTS + 0x80, TEAM = EVENTS + 0x84, FETCH_ENABLE = 0x10200008, BOOT = 0x10200040 };
volatile unsigned starts, value, passed;
extern void _start(void);
void idle(void);

__asm__(".globl idle\n.balign 4\nidle: wfi\n j idle\n");

static unsigned event_load(unsigned address) {
    unsigned result;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(result) : "r"(address) : "memory");
    return result;
}

static void pause(unsigned rounds) {
    for (volatile unsigned i = 0; i < rounds; i++) {}
}

static void be_stopped(void) {
    REG(EVENTS) = 1u << 18;
    if (starts++ == 0 && ITSELF) REG(FETCH_ENABLE) = ~2u;
    else if (starts == 2) pause(100);
    value = event_load(DISPATCH);
    passed++;
}

static void stop_and_start(void) {
    REG(BOOT + 8 * 4) = (unsigned)idle;
    pause(100);
    REG(FETCH_ENABLE) = ~2u;
    REG(BOOT + 4) = (unsigned)_start;
    REG(FETCH_ENABLE) = ~0u;
    while (starts < 2) {}
    REG(TEAM) = 2;
    REG(DISPATCH) = 77;
    while (!passed) {}
    pause(100);
}

int cluster_main(unsigned core) {
    if (core == 0) stop_and_start();
    if (core == 1) be_stopped();
    return 0;
}
