/* The sanitizer: checks that cost time and are made when asked for. While any is on, every access goes through the bus. */
#include "engine/sim.h"
#include "kinds/misuse.h"
#include <stdlib.h>

void check_written(memory *m, u32 offset, u32 size) {
    if (UNLIKELY(m->written != NULL)) memset(m->written + offset, 1, size);
}

/* Bytes that a device carries from one memory to another stay as unwritten as they were. */
void check_take(const memory *m, u32 offset, u32 size, u8 *known) {
    if (UNLIKELY(m->written != NULL)) memcpy(known, m->written + offset, size);
}

void check_carry(memory *m, u32 offset, u32 size, const u8 *known) {
    if (UNLIKELY(m->written != NULL)) memcpy(m->written + offset, known, size);
}

static int is_written(const memory *m, u32 offset, u32 size) {
    return !m->written || memchr(m->written + offset, 0, size) == NULL;
}

static int is_protected(const checker *k, u32 address, u32 size) {
    for (u32 i = 0; i < k->ranges; i++)
        if (address < k->range[i].end && address + size > k->range[i].start) return 1;
    return 0;
}

/* Why a device must not write here, or FAULT_NONE. */
u32 check_device_write(const sim *s, const memory *m, u32 offset, u32 size) {
    const checker *k = &s->checker;
    return (k->checks & CHECK_PROTECTED) && is_protected(k, m->base + offset, size) ? FAULT_PROTECTED : FAULT_NONE;
}

/* Does a core touch what a device moves or computes, where that is this fault? */
static int conflicts(const sim *s, const memory *m, u32 address, u32 size, u32 is_write, u32 fault) {
    for (u32 i = 0; i < s->devices; i++) {
        const device *d = &s->device[i];
        if (d->type->conflicts && d->type->conflict == fault && d->type->conflicts(s, d, m, address, size, is_write)) return 1;
    }
    return 0;
}

/* Why a core must not make this access, or FAULT_NONE. `address` is that of the memory, not of a window. */
u32 check_access(sim *s, memory *m, u32 address, u32 size, u32 is_write) {
    const checker *k = &s->checker;
    if ((k->checks & CHECK_MISUSE) && conflicts(s, m, address, size, is_write, FAULT_MISUSE)) return FAULT_MISUSE;
    if (is_write && (k->checks & CHECK_PROTECTED) && is_protected(k, address, size)) return FAULT_PROTECTED;
    if (!is_write && (k->checks & CHECK_UNWRITTEN) && !is_written(m, address - m->base, size)) return FAULT_UNWRITTEN;
    if (!(k->checks & CHECK_TRANSFERS)) return FAULT_NONE;
    return conflicts(s, m, address, size, is_write, FAULT_TRANSFER) ? FAULT_TRANSFER : FAULT_NONE;
}

/* A core does to a device what the device is not made for. */
void check_misuse(sim *s, u32 what, int is_misuse, const access *a) {
    if (!is_misuse || !(s->checker.checks & CHECK_MISUSE) || s->fault.reason) return;
    sim_fault(s, FAULT_MISUSE, &s->core[a->core], a->pc, a->now, a->offset, 4, a->is_write);
    s->fault.value = what;
}

/* A memory whose lines of code come through one port has them for one core alone. Is this another one? */
int check_fetch(sim *s, const core *c, u32 pc, u64 now) {
    u32 offset;
    memory *m = s->checker.checks & CHECK_MISUSE ? bus_memory(s, c->group, pc, 1, &offset) : NULL;
    if (!m || !m->description->refill_port_bytes) return 0;
    if (!m->fetcher) m->fetcher = c->id + 1;
    if (m->fetcher == c->id + 1) return 0;
    sim_fault(s, FAULT_MISUSE, c, pc, now, pc, 4, 0);
    s->fault.value = MISUSE_FETCH;
    return 1;
}

static void watch_writes(sim *s) {
    for (u32 i = 0; i < s->memories; i++) {
        memory *m = &s->memory[i];
        if (!m->written) m->written = calloc(1, m->size);
    }
}

void check_begin(sim *s, u32 checks) {
    s->checker.checks = checks;
    if (checks & CHECK_UNWRITTEN) watch_writes(s);
    for (u32 i = 0; checks && i < s->cores; i++) s->core[i].local_size = 0;
}

void check_protect(sim *s, u32 start, u32 end) {
    checker *k = &s->checker;
    k->range = realloc(k->range, (k->ranges + 1) * sizeof *k->range);
    k->range[k->ranges].start = start;
    k->range[k->ranges++].end = end;
}

/* A snapshot keeps a map for each memory that had one when it was taken. */
size_t check_bytes(const sim *s) {
    size_t bytes = 0;
    for (u32 i = 0; i < s->memories; i++) {
        const memory *m = &s->memory[i];
        bytes += m->written ? packed_bytes(m->written, m->size) : 0;
    }
    return bytes;
}

void check_save(const sim *s, u8 *to) {
    for (u32 i = 0; i < s->memories; i++) {
        const memory *m = &s->memory[i];
        if (m->written) to = pack(m->written, m->size, to);
    }
}

/* `present`: the memories as they were before the restore. A map that is younger than the snapshot stays as it is. */
void check_restore(sim *s, const memory *present, const u8 *from) {
    for (u32 i = 0; i < s->memories; i++) {
        memory *m = &s->memory[i];
        if (m->written) from = unpack(m->written, m->size, from);
        m->written = present[i].written;
    }
}

void check_end(sim *s) {
    for (u32 i = 0; i < s->memories; i++) free(s->memory[i].written);
    free(s->checker.range);
}
