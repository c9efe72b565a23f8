/* Watching without touching: cycles per function, and spans of time for a trace. */
#include "engine/sim.h"
#include <stdlib.h>

enum { MAX_SPANS = 4 << 20 };

static u32 function_of(const observer *o, u32 pc) {
    u32 low = 0, high = o->functions;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (o->start[middle] <= pc) low = middle + 1;
        else high = middle;
    }
    return low; /* 0: before the first one; else function number + 1 */
}

void observe_span(sim *s, u32 track, u32 name, u64 start, u64 end) {
    observer *o = &s->observer;
    if (!o->tracing || end <= start) return;
    if (o->spans == MAX_SPANS) {
        o->lost++;
        return;
    }
    if (o->spans == o->room) {
        o->room = o->room ? o->room * 2 : 4096;
        o->span = realloc(o->span, o->room * sizeof *o->span);
    }
    o->span[o->spans++] = (span){start, end, track, name};
}

/* Cycles asleep up to now, those of a sleep that goes on included. */
static u64 slept(const core *c, u64 now) {
    u64 since = c->status == CORE_WAITING && now > c->wait_since ? now - c->wait_since - 1 : 0;
    return c->stall[STALL_SLEEP] + since;
}

/* The time since the last look belongs to the function that was running. */
static void account(sim *s, core *c, u64 now) {
    profile_cell *cell = &s->observer.profile[(size_t)c->function * s->cores + c->id];
    cell->cycles += now - c->seen_at;
    cell->sleep += slept(c, now) - c->seen_sleep;
    c->seen_at = now;
    c->seen_sleep = slept(c, now);
}

static void change_function(sim *s, core *c, u32 pc, u64 now) {
    const observer *o = &s->observer;
    observe_span(s, c->id, c->function, c->function_since, now);
    u32 f = function_of(o, pc);
    c->function = f;
    c->function_since = now;
    c->function_start = f ? o->start[f - 1] : 0;
    c->function_size = (f < o->functions ? o->start[f] : ~0u) - c->function_start;
}

/* Before every instruction of a watched core. */
void observe(sim *s, core *c, u32 pc, u64 now) {
    account(s, c, now);
    if (pc - c->function_start >= c->function_size) change_function(s, c, pc, now);
    s->observer.profile[(size_t)c->function * s->cores + c->id].instructions++;
}

/* Start watching: function addresses in ascending order. */
void observe_begin(sim *s, const u32 *starts, u32 count, u32 tracing) {
    observer *o = &s->observer;
    observe_end(s);
    o->functions = count;
    o->start = malloc((count + 1) * sizeof *o->start);
    memcpy(o->start, starts, count * sizeof *o->start);
    o->profile = calloc((size_t)(count + 1) * s->cores, sizeof *o->profile);
    o->tracing = tracing;
    o->watching = 1;
    for (u32 i = 0; i < s->cores; i++) {
        core *c = &s->core[i];
        c->hooked = 1;
        c->function = c->function_size = 0;
        c->seen_at = c->function_since = later(c->t, s->queue.now);
        c->seen_sleep = slept(c, c->seen_at);
    }
}

/* Close what is still open, up to now. */
void observe_close(sim *s, u64 now) {
    if (!s->observer.watching) return;
    for (u32 i = 0; i < s->cores; i++) {
        core *c = &s->core[i];
        u64 end = later(now, c->seen_at);
        if (c->status == CORE_OFF) continue;
        account(s, c, end);
        observe_span(s, c->id, c->function, c->function_since, end);
        if (c->status == CORE_WAITING) observe_span(s, c->id, SPAN_ASLEEP, later(c->wait_since, c->function_since), end);
        c->function_since = end;
    }
}

void observe_end(sim *s) {
    free(s->observer.start);
    free(s->observer.profile);
    free(s->observer.span);
    s->observer = (observer){0};
}
