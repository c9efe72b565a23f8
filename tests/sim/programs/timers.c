/* Core 0 sleeps until the first timer, which was to ring after 3000 cycles, rings after 9000. The second one rings once in
 * between, right after the first was set anew; a timer elsewhere is to ring much later. Core 1 is busy meanwhile, so that
 * the queue of the simulator follows from cycle to cycle: then the second ring is soon, and both others are far. */
#include "event_unit.h"

enum { EVENTS = 0x10204000, TIMER = 0x10200400, COMPARE = TIMER + 0x10, FC_TIMER = 0x1a10b000, LINE = 10 };
enum { ENABLE = 1, CLEAR = 2, IRQ = 4, ONE_SHOT = 32 };
volatile unsigned began, woke;

int cluster_main(unsigned core) {
    for (volatile unsigned i = 0; core == 1 && i < 400; i++) {}
    if (core) return 0;
    REG(FC_TIMER + 0x10) = 50000;
    REG(FC_TIMER) = ENABLE | CLEAR;
    REG(COMPARE) = 3000;
    REG(COMPARE + 4) = 50;
    began = now();
    REG(TIMER) = ENABLE | CLEAR | IRQ;
    REG(TIMER + 4) = ENABLE | CLEAR | ONE_SHOT;
    REG(COMPARE) = 9000;
    REG(EVENTS) = 1u << LINE;
    (void)event_load(EVENTS + 0x3c);
    woke = now();
    return 0;
}
