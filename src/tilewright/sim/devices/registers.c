/* A block of registers that nothing depends on: reads give what was written. */
#include "engine/sim.h"

enum { WORDS = 2048 };
static void write(sim *s, device *d, access *a) { (void)s, ((u32 *)d->state)[a->offset / 4 % WORDS] = a->value; }
static void read(sim *s, device *d, access *a) { (void)s, a->value = ((u32 *)d->state)[a->offset / 4 % WORDS]; }
static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, WORDS * 4); }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type REGISTERS = {.name = "registers", .state_bytes = WORDS * 4, .reset = reset, .read = read, .write = write, .tick = tick};
