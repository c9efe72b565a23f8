/* Instruction cache control of a group: enable at 0, flush at 4. */
#include "engine/sim.h"

static void write(sim *s, device *d, access *a) {
    u32 group = d->description->parameters[0];
    if (a->offset == 0) s->icache[group].on = a->value != 0;
    icache_flush(s, group);
    if (a->offset != 0) code_flush(s);
}

static void read(sim *s, device *d, access *a) { a->value = a->offset == 0 ? s->icache[d->description->parameters[0]].on : 0; }
static void reset(sim *s, device *d) { (void)s, (void)d; }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type ICACHE_CONTROL = {.name = "instruction cache control", .state_bytes = 0, .reset = reset, .read = read, .write = write, .tick = tick};
