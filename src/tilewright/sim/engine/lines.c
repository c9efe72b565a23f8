/* What stands between a core and a memory with wait states: lines that were read before. */
#include "engine/sim.h"

static u32 lines_of(u32 bytes, const platform_memory *p) { return bytes > p->line_bytes ? bytes / p->line_bytes : 1; }

static size_t bytes_of(u32 bytes, const platform_memory *p) {
    return sizeof(read_lines) + lines_of(bytes, p) * (sizeof(u32) + sizeof(u64) + 1) + 512;
}

/* Of the arena. */
size_t lines_bytes(const platform_memory *p) {
    return p->line_wait ? bytes_of(p->code_cache_bytes, p) + bytes_of(p->data_cache_bytes, p) : 0;
}

static read_lines *build(sim *s, u32 bytes, const platform_memory *p) {
    const u32 lines = lines_of(bytes, p), ways = lines < p->line_ways ? lines : p->line_ways;
    read_lines *k = sim_allocate(s, sizeof *k);
    *k = (read_lines){.sets = lines / ways, .ways = ways, .line_bytes = p->line_bytes, .wait = p->line_wait, .reads_ahead = p->reads_ahead};
    k->tag = sim_allocate(s, lines * sizeof *k->tag);
    k->used = sim_allocate(s, lines * sizeof *k->used);
    k->is_dirty = sim_allocate(s, lines);
    return k;
}

void lines_build(sim *s, memory *m) {
    const platform_memory *p = m->description;
    if (!p->line_wait) return;
    m->data_lines = build(s, p->data_cache_bytes, p);
    m->code_lines = p->is_one_cache ? m->data_lines : build(s, p->code_cache_bytes, p);
}

/* The way that has the line, or takes it instead of what was not used for longest. */
static u32 line_wait(read_lines *k, u32 line, int is_write) {
    const u32 first = line % k->sets * k->ways;
    u32 slot = first, wait = 0;
    for (u32 i = first; i < first + k->ways; i++) {
        if (k->tag[i] == line + 1) { slot = i; break; }
        if (k->used[i] < k->used[slot]) slot = i;
    }
    if (k->tag[slot] != line + 1) {
        wait = (k->reads_ahead && line == k->last ? 0 : k->wait) + (k->is_dirty[slot] ? k->wait : 0);
        k->tag[slot] = line + 1;
        k->is_dirty[slot] = 0;
    }
    k->used[slot] = ++k->uses;
    k->is_dirty[slot] |= (u8)is_write;
    k->last = line + 1;
    return wait;
}

u32 lines_wait(read_lines *k, u32 offset, u32 size, int is_write) {
    u32 wait = 0;
    for (u32 line = offset / k->line_bytes; line <= (offset + size - 1) / k->line_bytes; line++) wait += line_wait(k, line, is_write);
    return wait;
}
