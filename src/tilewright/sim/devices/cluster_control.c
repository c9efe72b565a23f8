/* Starts and stops the cores of a group: boot addresses from 0x40 on, fetch enable at 8. */
#include "engine/sim.h"
#include "kinds/misuse.h"

enum { FETCH_ENABLE = 0x08, BOOT = 0x40 };
typedef struct {
    u32 enabled;
} cluster_control;

/* The first group; whoever starts it lies in another one. */
static int is_controlled(const sim *s, u32 id) { return id < s->cores && s->core[id].group == 0; }

static void apply(sim *s, cluster_control *k, u32 wanted, u64 now) {
    for (u32 i = 0; i < 32 && is_controlled(s, i); i++) {
        u32 bit = 1u << i;
        if ((wanted & bit) && !(k->enabled & bit)) sim_start_core(s, i, s->core[i].boot_address, now + 1);
        if (!(wanted & bit) && (k->enabled & bit)) sim_stop_core(s, i, now);
    }
    k->enabled = wanted;
}

static void write(sim *s, device *d, access *a) {
    u32 id = (a->offset - BOOT) / 4;
    if (a->offset == FETCH_ENABLE) apply(s, d->state, a->value, a->now);
    else if (a->offset >= BOOT && is_controlled(s, id)) s->core[id].boot_address = a->value;
}

static void read(sim *s, device *d, access *a) {
    check_misuse(s, MISUSE_CORES_READ, a->offset == FETCH_ENABLE, a);
    check_misuse(s, MISUSE_WRITE_ONLY, a->offset >= BOOT && is_controlled(s, (a->offset - BOOT) / 4), a);
    a->value = a->offset == FETCH_ENABLE ? ((cluster_control *)d->state)->enabled : 0;
}

static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(cluster_control)); }

static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type CLUSTER_CONTROL = {.name = "cluster control", .state_bytes = sizeof(cluster_control), .reset = reset, .read = read, .write = write, .tick = tick};
