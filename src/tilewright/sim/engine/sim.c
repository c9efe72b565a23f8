/* Building a platform, scheduling, faults. */
#include "engine/sim.h"
#include <stdlib.h>

enum { SLACK = 1 << 20, SPILL = 64 }; /* SPILL: an engine's widest access at the last byte of a memory */

void *sim_allocate(sim *s, size_t bytes) {
    size_t at = (s->used + 63) & ~(size_t)63;
    if (at + bytes > s->arena_bytes) abort();
    s->used = at + bytes;
    return s->arena + at;
}

static cache new_cache(sim *s, u32 sets, u32 ways) {
    cache k = {.sets = sets ? sets : 1, .ways = ways};
    k.tag = sim_allocate(s, k.sets * 4 * sizeof *k.tag);
    k.ready = sim_allocate(s, k.sets * 4 * sizeof *k.ready);
    return k;
}

static size_t arena_size(const platform *p) {
    size_t bytes = SLACK;
    for (u32 i = 0; i < p->memories; i++) bytes += p->memory[i].size + p->memory[i].banks * sizeof(u64) + lines_bytes(&p->memory[i]) + 4096;
    for (u32 g = 0; g < p->groups; g++) {
        const platform_group *group = &p->group[g];
        u32 sets = group->private_sets + group->last_core_private_sets + 1;
        bytes += CORE_KINDS[group->flavour]->bytes ? CORE_KINDS[group->flavour]->bytes(group) : 0;
        bytes += group->cores * (sizeof(core) + sizeof(core *) + sets * 48 + 1024) + group->shared_banks * group->shared_sets * 64;
    }
    for (u32 i = 0; i < p->devices; i++) bytes += DEVICE_TYPES[p->device[i].kind]->state_bytes + 64;
    return bytes;
}

static void build_memories(sim *s) {
    for (u32 i = 0; i < s->memories; i++) {
        const platform_memory *p = &s->description.memory[i];
        s->memory[i] = (memory){.base = p->base, .size = p->size, .banks = p->banks, .hides_wait = p->hides_wait, .description = p};
        s->memory[i].data = sim_allocate(s, p->size + SPILL);
        s->memory[i].free = sim_allocate(s, p->banks * sizeof(u64));
        lines_build(s, &s->memory[i]);
    }
}

static void map_pages(u8 *map, u32 base, u32 size, u8 what) {
    for (u64 page = base >> PAGE_BITS; page << PAGE_BITS < (u64)base + size; page++) map[page] = what;
}

static void build_view(sim *s, u32 g) {
    const platform *p = &s->description;
    view *v = &s->view[g];
    v->map = malloc(1u << (32 - PAGE_BITS));
    v->code = calloc(1u << (32 - PAGE_BITS), sizeof *v->code);
    v->flavour = p->group[g].flavour;
    v->kind = CORE_KINDS[v->flavour];
    v->has_float = p->group[g].has_float;
    v->extensions = p->group[g].extensions;
    v->timing = p->group[g].has_timing ? &p->group[g].timing : v->kind->timing;
    memset(v->map, MAP_NONE, 1u << (32 - PAGE_BITS));
    for (u32 i = 0; i < p->devices; i++) map_pages(v->map, p->device[i].base, p->device[i].size, MAP_DEVICES);
    for (u32 i = 0; i < p->memories; i++)
        if (p->memory[i].is_mapped) map_pages(v->map, p->memory[i].base, p->memory[i].size, (u8)i);
    for (u32 i = 0; i < p->windows; i++)
        if (p->window[i].groups >> g & 1) map_pages(v->map, p->window[i].base, p->window[i].size, (u8)(MAP_WINDOW | i));
}

static void build_core(sim *s, core *c, u32 g, u32 index, u64 *fpu, u64 *fdiv) {
    const platform_group *p = &s->description.group[g];
    u32 units = p->fpus ? p->fpus : p->cores;
    int is_last = index + 1 == p->cores && p->last_core_private_sets;
    c->id = (u32)(c - s->core);
    c->hart = p->first_hart + index;
    c->group = g;
    c->kind = CORE_KINDS[p->flavour];
    c->timing = s->view[g].timing;
    if (c->kind->build_core) c->kind->build_core(s, c, index);
    c->private_cache = new_cache(s, is_last ? p->last_core_private_sets : p->private_sets, p->private_ways);
    c->fpu_free = &fpu[index % units];
    c->fdiv_free = fdiv;
    if (p->local_memory >= s->memories) return;
    memory *local_memory = &s->memory[p->local_memory];
    c->local = local_memory->data;
    c->local_base = local_memory->base;
    c->local_size = local_memory->size;
    c->local_free = local_memory->free;
    c->bank_mask = local_memory->banks - 1;
}

static void build_groups(sim *s) {
    const platform *p = &s->description;
    for (u32 g = 0; g < s->groups; g++) s->cores += p->group[g].cores;
    s->core = sim_allocate(s, s->cores * sizeof *s->core);
    s->by_rank = sim_allocate(s, s->cores * sizeof *s->by_rank);
    s->icache = sim_allocate(s, s->groups * sizeof *s->icache);
    core *c = s->core;
    for (u32 g = 0; g < s->groups; g++) {
        u64 *fpu = sim_allocate(s, p->group[g].cores * sizeof *fpu), *fdiv = sim_allocate(s, sizeof *fdiv);
        build_view(s, g);
        if (s->view[g].kind->build_group) s->view[g].kind->build_group(s, g);
        s->icache[g].banks = p->group[g].shared_banks;
        for (u32 b = 0; b < p->group[g].shared_banks; b++) s->icache[g].bank[b] = new_cache(s, p->group[g].shared_sets, p->group[g].shared_ways);
        for (u32 i = 0; i < p->group[g].cores; i++) build_core(s, c++, g, i, fpu, fdiv);
    }
}

static void build_devices(sim *s) {
    for (u32 i = 0; i < s->devices; i++) {
        device *d = &s->device[i];
        d->description = &s->description.device[i];
        d->type = DEVICE_TYPES[d->description->kind];
        d->state = sim_allocate(s, d->type->state_bytes);
        d->id = i;
        d->actor = s->cores + i;
        d->next = NEVER;
    }
    for (u32 i = 0; i < s->devices; i++) s->device[i].type->reset(s, &s->device[i]);
}

sim *sim_new(const platform *p) {
    sim *s = calloc(1, sizeof *s);
    s->description = *p;
    s->arena_bytes = arena_size(p);
    s->arena = calloc(1, s->arena_bytes);
    s->groups = p->groups, s->memories = p->memories, s->devices = p->devices;
    build_memories(s);
    build_groups(s);
    build_devices(s);
    s->queue.is_wide = s->cores + s->devices > 64;
    for (u32 i = 0; i < s->cores; i++) {
        core *c = &s->core[i];
        c->line = NO_LINE;
        c->mstatus = 0x6000;
        c->wake_at = NEVER;
        c->rank = i;
        s->by_rank[i] = c;
        s->icache[c->group].on = p->group[c->group].cache_on_at_reset;
    }
    return s;
}

void sim_delete(sim *s) {
    for (u32 g = 0; g < s->groups; g++) {
        for (code_page *page = s->view[g].pages, *next; page; page = next) {
            next = page->next;
            free(page);
        }
        free(s->view[g].map);
        free(s->view[g].code);
    }
    observe_end(s);
    probe_end(s);
    guard_end(s);
    check_end(s);
    free(s->out);
    free(s->arena);
    free(s);
}

/* The first device of a type, or NULL. */
device *sim_device(const sim *s, const device_type *type) {
    for (u32 i = 0; i < s->devices; i++)
        if (s->device[i].type == type) return (device *)&s->device[i];
    return NULL;
}

/* Does the program end while a device is at work? */
int sim_is_at_work(const sim *s) {
    for (u32 i = 0; i < s->devices; i++) {
        const device *d = &s->device[i];
        if (d->type->is_at_work && d->type->is_at_work(d)) return 1;
    }
    return 0;
}

/* Within a cycle the core that was woken last acts first [c19 share_fdiv]. */
static void move_to_front(sim *s, core *c) {
    u32 rank = c->rank;
    if (rank == 0 || rank >= 64) return;
    queue_move_to_front(&s->queue, rank);
    if (s->running < rank) s->running++;
    memmove(&s->by_rank[1], &s->by_rank[0], rank * sizeof s->by_rank[0]);
    s->by_rank[0] = c;
    for (u32 i = 0; i <= rank; i++) s->by_rank[i]->rank = i;
}

/* An actor wants to act in a cycle; the running core must not run past it. */
void sim_schedule(sim *s, u32 actor, u64 when) {
    if (when == NEVER) return;
    if (actor >= s->cores) {
        device *d = &s->device[actor - s->cores];
        if (d->next <= when) return;
        d->next = when;
    }
    queue_push(&s->queue, actor, when);
    s->horizon = earlier(s->horizon, when + (actor > s->running));
}

/* The answer to a core that a device made wait: it goes on in cycle `when`. */
void sim_wake(sim *s, u32 id, u64 when, u32 value) {
    core *c = &s->core[id];
    if (c->status == CORE_OFF) return;
    if (c->status != CORE_WAITING) {
        c->wake_at = when;
        c->wake_value = value;
        return;
    }
    c->stall[STALL_SLEEP] += when - c->wait_since - 1;
    c->stall[STALL_FETCH] += c->wake_delay;
    when += c->wake_delay;
    c->wake_at = NEVER;
    c->status = CORE_RUNNING;
    c->x[c->wait_rd] = value;
    c->t = when;
    observe_span(s, id, SPAN_ASLEEP, later(c->wait_since, c->function_since), when);
    if (!c->kind->keeps_order) move_to_front(s, c); /* a unit that works on is in the queue */
    sim_schedule(s, c->rank, when);
}

void sim_start_core(sim *s, u32 id, u32 pc, u64 when) {
    core *c = &s->core[id];
    c->ip = code_at(s, c->group, pc);
    c->started = when - (c->t - c->started); /* a core that ran before: the time between does not count */
    c->t = c->seen_at = c->function_since = when;
    c->resume = NULL;
    c->wake_at = NEVER;
    c->status = CORE_RUNNING;
    c->mtvec = pc & ~0xffu;
    if (!s->description.group[c->group].boots) move_to_front(s, c);
    sim_schedule(s, c->rank, when);
}

/* What it slept for is no longer waited for. A core that stops itself must not run on. */
void sim_stop_core(sim *s, u32 id, u64 now) {
    core *c = &s->core[id];
    if (c->status == CORE_WAITING) {
        c->stall[STALL_SLEEP] += now - c->wait_since - 1;
        c->t = now;
        event_forget(s, id);
    }
    c->status = CORE_OFF;
    s->horizon = 0;
}

void sim_fault(sim *s, u32 reason, const core *c, u32 pc, u64 cycle, u32 address, u32 size, u32 is_write) {
    if (s->fault.reason) return;
    s->fault = (fault){.reason = reason, .core = c ? c->id : ~0u, .pc = pc, .cycle = cycle, .address = address, .size = size, .is_write = is_write};
}

int sim_hits_breakpoint(sim *s, core *c, u32 pc) {
    if (s->is_stepping && s->step_core == c->id) return 1;
    for (u32 i = 0; i < s->breakpoints; i++)
        if (s->breakpoint[i] == pc) return 1;
    return 0;
}
