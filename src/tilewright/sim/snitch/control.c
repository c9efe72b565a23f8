/* The peripheral registers of a Snitch cluster: performance counters that do not count, wake-up of cores,
 * ITA's busy flag and events. */
#include "ita/ita.h"
#include "snitch/snitch.h"
#include "kinds/misuse.h"

enum { CLINT_SET = 0x180, CLINT_CLEAR = 0x188, ITA_BUSY = 0x1a0, ITA_EVENT = 0x1a8, CLUSTER_LINE = 19, WORDS = 0x200 / 4 };
typedef struct { u32 word[WORDS]; } control;

static void write(sim *s, device *d, access *a) {
    control *k = d->state;
    check_misuse(s, MISUSE_READ_ONLY, a->offset == ITA_BUSY, a);
    if (a->offset == ITA_EVENT) ita_clear_events(s, a->value);
    if (a->offset != CLINT_SET && a->offset != CLINT_CLEAR) {
        if (a->offset / 4 < WORDS) k->word[a->offset / 4] = a->value;
        return;
    }
    for (u32 i = 0; i < s->cores && i < 32; i++)
        if (a->value >> i & 1) snitch_interrupt(s, i, CLUSTER_LINE, a->offset == CLINT_SET, a->now);
}

static void read(sim *s, device *d, access *a) {
    const control *k = d->state;
    if (a->offset == ITA_BUSY) a->value = ita_busy(s);
    else if (a->offset == ITA_EVENT) a->value = ita_events(s);
    else a->value = a->offset / 4 < WORDS ? k->word[a->offset / 4] : 0;
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(control)); }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type SNITCH_CONTROL = {.name = "cluster peripherals", .state_bytes = sizeof(control), .reset = reset, .read = read, .write = write, .tick = tick};
