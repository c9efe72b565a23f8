/* Probes: places in the code whose passing is noted with the cycle and what the core has waited for until then. Only the
 * marked instructions take the way through here, so the others run as fast as ever, and no cycle changes. */
#include "engine/sim.h"
#include <stdlib.h>

enum { MAX_EVENTS = 8 << 20 };

/* The place at or behind an address. */
static u32 find(const prober *p, u32 pc) {
    u32 low = 0, high = p->places;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (p->place[middle] < pc) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int is_place(const prober *p, u32 pc) {
    u32 at = find(p, pc);
    return at < p->places && p->place[at] == pc;
}

/* Whether an instruction goes through here: probes and watched stacks. */
int probe_is_at(const sim *s, u32 pc) { return is_place(&s->prober, pc) || guard_is_at(s, pc); }

static u32 new_meter(sim *s, u64 now) {
    prober *p = &s->prober;
    if (p->meters == p->meter_room) {
        p->meter_room = p->meter_room ? p->meter_room * 2 : 64;
        p->meter = realloc(p->meter, p->meter_room * sizeof *p->meter);
    }
    activity_until(s, now, &p->meter[p->meters]);
    return p->meters++;
}

static probe_event *new_event(prober *p) {
    if (p->events == p->room) {
        p->room = p->room ? p->room * 2 : 1024;
        p->event = realloc(p->event, p->room * sizeof *p->event);
    }
    return &p->event[p->events++];
}

/* A core is about to execute a marked instruction; it may not, where its stack has ended. */
void probe_pass(sim *s, const core *c, u32 pc, u64 now, u64 instructions) {
    prober *p = &s->prober;
    if (s->guard.sites) guard_pass(s, c, pc, now);
    if (!p->places || !p->is_probed[c->id] || !is_place(p, pc)) return;
    if (p->events == MAX_EVENTS) {
        p->lost++;
        return;
    }
    probe_event *e = new_event(p);
    *e = (probe_event){.cycle = now, .instructions = instructions, .core = c->id, .address = pc, .meter = NO_METER};
    memcpy(e->argument, c->x + FIRST_ARGUMENT, sizeof e->argument);
    if (p->is_metered[find(p, pc)]) e->meter = new_meter(s, now);
    core_stalls(c, now, instructions, e->stall);
}

/* The DMA has done what a core told it. */
void probe_transfer(sim *s, const dma_transfer *done) {
    prober *p = &s->prober;
    if (!p->places || !p->is_probed[done->core]) return;
    if (p->transfers == MAX_EVENTS) {
        p->lost++;
        return;
    }
    if (p->transfers == p->transfer_room) {
        p->transfer_room = p->transfer_room ? p->transfer_room * 2 : 1024;
        p->transfer = realloc(p->transfer, p->transfer_room * sizeof *p->transfer);
    }
    p->transfer[p->transfers++] = *done;
}

/* An accelerator has done a job, or is at work until `end`; what follows right behind is the same one's. */
void probe_job(sim *s, const device *d, u64 start, u64 end) {
    prober *p = &s->prober;
    const u64 number = (u64)(d - s->device);
    if (!p->places) return;
    engine_job *last = p->jobs ? &p->job[p->jobs - 1] : NULL;
    if (last && d->type->joins_jobs && last->device == number && last->end == start) {
        last->end = end;
        return;
    }
    if (p->jobs == MAX_EVENTS) {
        p->lost++;
        return;
    }
    if (p->jobs == p->job_room) {
        p->job_room = p->job_room ? p->job_room * 2 : 256;
        p->job = realloc(p->job, p->job_room * sizeof *p->job);
    }
    p->job[p->jobs++] = (engine_job){start, end, number};
}

/* From now on: places in ascending order, a byte for each of them, a byte per core. */
void probe_begin(sim *s, const u32 *places, const u8 *metered, u32 count, const u8 *cores) {
    probe_end(s);
    prober *p = &s->prober;
    p->places = count;
    p->place = malloc((count + 1) * sizeof *p->place);
    memcpy(p->place, places, count * sizeof *p->place);
    p->is_metered = malloc(count + 1);
    memcpy(p->is_metered, metered, count);
    p->is_probed = malloc(s->cores);
    memcpy(p->is_probed, cores, s->cores);
    code_place_probes(s);
}

/* Time goes back to when there were this many events, meters, transfers and jobs. */
void probe_rewind(sim *s, const prober *then) {
    if (then->events < s->prober.events) s->prober.events = then->events;
    if (then->meters < s->prober.meters) s->prober.meters = then->meters;
    if (then->transfers < s->prober.transfers) s->prober.transfers = then->transfers;
    if (then->jobs < s->prober.jobs) s->prober.jobs = then->jobs;
    s->prober.lost = 0;
}

void probe_end(sim *s) {
    free(s->prober.place);
    free(s->prober.is_metered);
    free(s->prober.meter);
    free(s->prober.is_probed);
    free(s->prober.event);
    free(s->prober.transfer);
    free(s->prober.job);
    s->prober = (prober){0};
}
