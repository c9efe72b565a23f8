/* Core 1 sleeps until core 0 lets it go: by a barrier (LINE 16), a mutex (17) or the dispatcher (18). With HEARS 0 its mask lacks
 * the line, and core 0 adds it later, through the view from outside. */
#include "event_unit.h"

enum { EVENTS = 0x10204000, CORE_1 = 0x10200840, BARRIER = EVENTS + 0x220, MUTEX = EVENTS + 0xc0, DISPATCH = EVENTS + 0x80 };
enum { WAIT = LINE == 16 ? BARRIER + 0x1c : LINE == 17 ? MUTEX : DISPATCH, VALUE = 77 };
volatile unsigned triggered, allowed, woke, value, left;

static void pause(void) {
    for (unsigned began = now(); now() - began < 1000;) {}
}

static void trigger(void) {
    if (LINE == 16) (void)REG(BARRIER + 0x14);
    else REG(WAIT) = VALUE;
}

static void let_go(void) {
    pause();
    triggered = now();
    trigger();
    pause();
    allowed = now();
    REG(CORE_1 + 8) = 1u << LINE;
    pause();
}

static void sleep(void) {
    REG(EVENTS) = HEARS ? 1u << LINE : 0;
    value = event_load(WAIT);
    woke = now();
    left = REG(EVENTS + 0x1c) >> LINE & 1;
}

int cluster_main(unsigned core) {
    if (core == 0) {
        REG(BARRIER) = REG(BARRIER + 0xc) = REG(EVENTS + 0x84) = 3;
        event_load(MUTEX);
    }
    event_load(EVENTS + 0x21c);
    if (core == 0) let_go();
    if (core == 1) sleep();
    return 0;
}
