/* SoC control: the exit register at 0xa0 ends the run. */
#include "engine/sim.h"
#include "kinds/misuse.h"

enum { EXIT = 0xa0, EXIT_VALID = 0x80000000u };
typedef struct {
    u32 status;
} soc_control;

static void write(sim *s, device *d, access *a) {
    soc_control *k = d->state;
    if (a->offset != EXIT) return;
    k->status = a->value;
    if (!(a->value & EXIT_VALID)) return;
    check_misuse(s, MISUSE_UNIT_LEFT, sim_is_at_work(s), a);
    if (s->fault.reason) return;
    s->exited = 1;
    s->exit_code = a->value & ~EXIT_VALID;
    sim_fault(s, FAULT_EXIT, &s->core[a->core], 0, a->now, 0, 0, 0);
}

static void read(sim *s, device *d, access *a) {
    (void)s;
    a->value = a->offset == EXIT ? ((soc_control *)d->state)->status : 0;
}
static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(soc_control)); }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type SOC_CONTROL = {.name = "SoC control", .state_bytes = sizeof(soc_control), .reset = reset, .read = read, .write = write, .tick = tick};
