/* Two 32-bit timers: config, count, compare, start, reset; the second one at +4 of each.
 * The first parameter is the event line of the first timer; 0: this one raises none. */
#include "engine/sim.h"

enum { CONFIG = 0x00, COUNT = 0x08, COMPARE = 0x10, START = 0x18, RESET = 0x20 };
enum { ENABLE = 1, CLEAR = 2, IRQ = 4, RESTART = 16, ONE_SHOT = 32 };

typedef struct {
    u32 config, compare, value;
    u64 since;
} unit;
typedef struct {
    unit unit[2];
} timer;

static u32 count(const unit *u, u64 now) { return u->value + (u->config & ENABLE ? (u32)(now - u->since) : 0); }

static void set(unit *u, u32 value, u64 now) {
    u->value = value;
    u->since = now;
}

static u64 due(const unit *u, u64 now) {
    if (!(u->config & ENABLE) || !u->compare) return NEVER;
    return now + (u32)(u->compare - count(u, now) - 1) + 1;
}

static u64 tick(sim *s, device *d, u64 now) {
    timer *k = d->state;
    u64 next = NEVER;
    u32 line = d->description->parameters[0];
    for (u32 i = 0; i < 2; i++) {
        unit *u = &k->unit[i];
        if ((u->config & ENABLE) && u->compare && count(u, now) == u->compare) {
            if ((u->config & IRQ) && line) event_raise(s, ~0u, line + i, now);
            if (u->config & RESTART) set(u, 0, now);
            if (u->config & ONE_SHOT) set(u, count(u, now), now), u->config &= ~(u32)ENABLE;
        }
        next = earlier(next, due(u, now));
    }
    return next;
}

static void write(sim *s, device *d, access *a) {
    timer *k = d->state;
    unit *u = &k->unit[a->offset / 4 % 2];
    u32 now_count = count(u, a->now);
    switch (a->offset & ~4u) {
    case CONFIG:
        set(u, a->value & CLEAR ? 0 : now_count, a->now);
        u->config = a->value & ~(u32)CLEAR;
        break;
    case COUNT: set(u, a->value, a->now); break;
    case COMPARE: u->compare = a->value; break;
    case START: set(u, now_count, a->now), u->config |= ENABLE; break;
    case RESET: set(u, 0, a->now); break;
    default: return;
    }
    sim_schedule(s, d->actor, earlier(due(&k->unit[0], a->now), due(&k->unit[1], a->now)));
}

static void read(sim *s, device *d, access *a) {
    (void)s;
    const unit *u = &((timer *)d->state)->unit[a->offset / 4 % 2];
    switch (a->offset & ~4u) {
    case CONFIG: a->value = u->config; break;
    case COUNT: a->value = count(u, a->now); break;
    case COMPARE: a->value = u->compare; break;
    default: a->value = 0;
    }
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(timer)); }

const device_type TIMER = {.name = "timer", .state_bytes = sizeof(timer), .reset = reset, .read = read, .write = write, .tick = tick};
