/* Memory that reads as 0 and takes writes without keeping them. */
#include "engine/sim.h"

static void write(sim *s, device *d, access *a) { (void)s, (void)d, (void)a; }
static void read(sim *s, device *d, access *a) { (void)s, (void)d, a->value = 0; }
static void reset(sim *s, device *d) { (void)s, (void)d; }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type ZERO_MEMORY = {.name = "zero memory", .state_bytes = 0, .reset = reset, .read = read, .write = write, .tick = tick};
