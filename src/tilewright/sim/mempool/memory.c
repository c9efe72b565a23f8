/* Loads and stores of MemPool's cores that are not plain ones to L1: L2, registers, and all while something is checked. */
#include "mempool/mempool.h"
#include "kinds/misuse.h"

extern const device_type USER_DEVICE;

void mempool_object(sim *s, const core *c, u32 reason, u32 pc, u64 now, u32 address, u32 size, u32 is_write) {
    sim_fault(s, reason, c, pc, now, address, size, is_write);
    if (reason == FAULT_MISUSE) s->fault.value = MISUSE_UNIT_EARLY; /* of misuses of memory there is no other */
}

static mempool_result fails(sim *s, core *c, u32 reason, u32 pc, u64 now, u32 address, u32 size, u32 is_write) {
    mempool_object(s, c, reason, pc, now, address, size, is_write);
    return (mempool_result){.failed = 1};
}

static u64 outside(sim *s, const core *c, u32 latency, u64 now) { return book_outside(pool_of(s), core_of(c)->group, now) + latency; }

static mempool_result memory_access(sim *s, core *c, memory *m, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u32 value) {
    u32 offset = address - m->base, objection = UNLIKELY(s->checker.checks) ? check_access(s, m, address, size, is_write) : FAULT_NONE;
    if (UNLIKELY(objection)) return fails(s, c, objection, pc, now, address, size, is_write);
    mempool_result r = {.issued = now};
    if (m->data == c->local) {
        const l1_time at = l1_access(pool_of(s), core_of(c), offset, now);
        r.issued = at.issued, r.ready = at.ready;
    } else {
        r.ready = outside(s, c, m->description->latency[c->group], now);
    }
    c->memory_bytes[m - s->memory] += size;
    c->memory_words[m - s->memory]++;
    if (!is_write) memcpy(&r.value, m->data + offset, size);
    else memcpy(m->data + offset, &value, size), check_written(m, offset, size);
    if (is_write && s->has_tohost && address == s->tohost) host_store(s, value);
    if (UNLIKELY(s->exited)) return fails(s, c, FAULT_EXIT, pc, now, address, size, is_write);
    return r;
}

/* A device may let the core wait before it takes the access. */
static mempool_result device_access(sim *s, core *c, device *d, u32 pc, u64 now, u32 offset, u32 size, u32 is_write, u32 value) {
    access a = {.core = c->id, .pc = pc, .offset = offset, .value = value, .is_write = is_write, .now = now};
    check_misuse(s, MISUSE_NARROW, size < 4 && d->type != &USER_DEVICE, &a);
    (is_write ? d->type->write : d->type->read)(s, d, &a);
    return (mempool_result){.value = a.value, .issued = now + a.wait, .ready = outside(s, c, d->description->latency[c->group], now + a.wait),
                            .failed = s->fault.reason != FAULT_NONE};
}

mempool_result mempool_access(sim *s, core *c, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u32 value) {
    u32 offset;
    if (address % size) return fails(s, c, FAULT_MISALIGNED, pc, now, address, size, is_write);
    memory *m = bus_memory(s, c->group, address, size, &offset);
    if (m) return memory_access(s, c, m, pc, now, address, size, is_write, value);
    for (u32 i = 0; i < s->devices; i++) {
        device *d = &s->device[i];
        u32 at = address - d->description->base;
        if (at < d->description->size) return device_access(s, c, d, pc, now, at, size, is_write, value);
    }
    return fails(s, c, FAULT_UNMAPPED, pc, now, address, size, is_write);
}
