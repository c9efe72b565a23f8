/* The memory map as a core sees it: memories, second views of them, devices. */
#include "engine/sim.h"
#include "kinds/misuse.h"

/* The memory behind an address, through windows; NULL for devices and holes. */
static memory *find(sim *s, u32 group, u32 *address, int *test_and_set) {
    u8 what = s->view[group].map[*address >> PAGE_BITS];
    if (what != MAP_NONE && what != MAP_DEVICES && (what & MAP_WINDOW)) {
        const platform_window *w = &s->description.window[what & ~MAP_WINDOW];
        *address = *address - w->base + w->target;
        if (test_and_set) *test_and_set = (int)w->test_and_set;
        what = s->view[group].map[*address >> PAGE_BITS];
    }
    return what < MAX_MEMORIES ? &s->memory[what] : NULL;
}

memory *bus_memory(sim *s, u32 group, u32 address, u32 size, u32 *offset) {
    memory *m = find(s, group, &address, NULL);
    if (!m || size > m->size || address - m->base > m->size - size) return NULL;
    *offset = address - m->base;
    return m;
}

u8 *bus_pointer(sim *s, u32 group, u32 address, u32 size) {
    u32 offset;
    memory *m = bus_memory(s, group, address, size, &offset);
    return m ? m->data + offset : NULL;
}

/* One access per cycle and bank. */
u32 bank_wait(memory *m, u32 offset, u64 now) {
    u64 *free = &m->free[offset / 4 % m->banks];
    u64 wait = *free > now ? *free - now : 0;
    *free = now + wait + 1;
    return (u32)wait;
}

static u32 access_wait(memory *m, u32 group, u32 offset, u64 now, int is_write) {
    if (m->data_lines) return lines_wait(m->data_lines, offset, 1, is_write);
    u32 latency = m->description->latency[group], wait = bank_wait(m, offset, now);
    return m->hides_wait ? (u32)later(latency, wait) : latency + wait;
}

static bus_result memory_access(sim *s, core *c, memory *m, u32 offset, u64 now, u32 size, u32 is_write, u32 value, int test_and_set) {
    bus_result r = {.wait = access_wait(m, c->group, offset, now, (int)is_write)};
    u32 latency = m->data_lines ? r.wait : m->description->latency[c->group];
    c->stall[STALL_MEMORY] += latency;
    c->stall[STALL_CONFLICT] += r.wait - latency;
    if ((offset & 3) + size > 4) {
        u32 second = 1 + access_wait(m, c->group, offset + 4, now + 1 + r.wait, (int)is_write);
        c->memory_words[m - s->memory]++;
        c->stall[STALL_MEMORY] += second;
        r.wait += second;
    }
    c->memory_bytes[m - s->memory] += size;
    c->memory_words[m - s->memory]++;
    if (is_write) memcpy(m->data + offset, &value, size), check_written(m, offset, size);
    else memcpy(&r.value, m->data + offset, size);
    if (test_and_set && !is_write) {
        memset(m->data + (offset & ~3u), 0xff, 4);
        bank_wait(m, offset, now);
    }
    return r;
}

static bus_result device_access(sim *s, core *c, device *d, u32 pc, u64 now, u32 offset, u32 size, u32 is_write, u32 value, u32 is_elw) {
    access a = {.core = c->id, .pc = pc, .offset = offset, .value = value, .is_write = is_write, .is_elw = is_elw, .now = now};
    check_misuse(s, MISUSE_NARROW, size < 4 && !d->type->takes_narrow, &a);
    (is_write ? d->type->write : d->type->read)(s, d, &a);
    u32 wait = d->description->latency[c->group] + a.wait, failed = s->fault.reason != FAULT_NONE;
    if (!failed && !a.blocked) c->stall[STALL_MEMORY] += wait; /* a run that ends here does not wait */
    return (bus_result){.value = a.value, .wait = wait, .blocked = a.blocked, .failed = failed};
}

static device *find_device(sim *s, u32 address) {
    for (u32 i = 0; i < s->devices; i++)
        if (address - s->device[i].description->base < s->device[i].description->size) return &s->device[i];
    return NULL;
}

static void check_tohost(sim *s, u32 address, u32 value) {
    if (s->has_tohost && address == s->tohost && (value & 1)) host_store(s, value);
}

bus_result bus_access(sim *s, core *c, const insn *ip, u64 now, u32 address, u32 size, u32 is_write, u32 value, u32 is_elw) {
    int test_and_set = 0;
    u32 target = address;
    if (UNLIKELY(is_write && s->has_tohost)) check_tohost(s, address, value);
    memory *m = find(s, c->group, &target, &test_and_set);
    if (m && target - m->base <= m->size - size) {
        u32 objection = UNLIKELY(s->checker.checks) ? check_access(s, m, target, size, is_write) : FAULT_NONE;
        if (UNLIKELY(objection)) {
            sim_fault(s, objection, c, ip->pc, now, address, size, is_write);
            s->fault.value = MISUSE_UNIT_EARLY; /* of misuses of memory there is no other */
            return (bus_result){.failed = 1};
        }
        bus_result r = memory_access(s, c, m, target - m->base, now, size, is_write, value, test_and_set);
        if (UNLIKELY(s->exited)) sim_fault(s, FAULT_EXIT, c, ip->pc, now, address, size, is_write), r.failed = 1;
        return r;
    }
    device *d = m ? NULL : find_device(s, target);
    if (d && !(target % size)) return device_access(s, c, d, ip->pc, now, target - d->description->base, size, is_write, value, is_elw);
    sim_fault(s, d ? FAULT_MISALIGNED : FAULT_UNMAPPED, c, ip->pc, now, address, size, is_write);
    return (bus_result){.failed = 1};
}
