/* Characters written by cores, put out a line at a time so that cores do not mix. */
#include "engine/sim.h"
#include <stdlib.h>

enum { CHANNELS = 512, WIDTH = 256 };
typedef struct {
    struct { u16 used; char text[WIDTH]; } line[CHANNELS];
} console;

void sim_print(sim *s, const char *text, u32 length) {
    if (s->out_used + length > s->out_size) {
        s->out_size = (s->out_used + length) * 2;
        s->out = realloc(s->out, s->out_size);
    }
    memcpy(s->out + s->out_used, text, length);
    s->out_used += length;
}

static void write(sim *s, device *d, access *a) {
    console *k = d->state;
    u32 channel = a->offset / 8 % CHANNELS;
    k->line[channel].text[k->line[channel].used++] = (char)a->value;
    if ((char)a->value != '\n' && k->line[channel].used < WIDTH) return;
    sim_print(s, k->line[channel].text, k->line[channel].used);
    k->line[channel].used = 0;
}

/* What has no newline yet. */
static void drain(sim *s, device *d) {
    console *k = d->state;
    for (u32 c = 0; c < CHANNELS; c++) {
        sim_print(s, k->line[c].text, k->line[c].used);
        k->line[c].used = 0;
    }
}

static void read(sim *s, device *d, access *a) { (void)s, (void)d, a->value = 0; }
static void reset(sim *s, device *d) { (void)s, memset(d->state, 0, sizeof(console)); }
static u64 tick(sim *s, device *d, u64 now) {
    (void)s, (void)d, (void)now;
    return NEVER;
}

const device_type CONSOLE = {.name = "stdout", .state_bytes = sizeof(console), .reset = reset, .read = read, .write = write, .tick = tick,
    .drain = drain};
