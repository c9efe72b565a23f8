/* Loads and stores of Snitch cores: up to 8 bytes, timed by the path to what they reach. */
#include "snitch/snitch.h"
#include "kinds/misuse.h"

static snitch_result fails(sim *s, core *c, u32 reason, u32 pc, u64 now, u32 address, u32 size, u32 is_write) {
    sim_fault(s, reason, c, pc, now, address, size, is_write);
    if (reason == FAULT_MISUSE) s->fault.value = MISUSE_UNIT_EARLY; /* of misuses of memory there is no other */
    return (snitch_result){.failed = 1};
}

static snitch_result memory_access(sim *s, core *c, memory *m, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u64 value) {
    u32 offset = address - m->base, objection = UNLIKELY(s->checker.checks) ? check_access(s, m, address, size, is_write) : FAULT_NONE;
    if (UNLIKELY(objection)) return fails(s, c, objection, pc, now, address, size, is_write);
    snitch_result r = {.latency = m->description->latency[c->group]};
    if (!r.latency) r.wait = (u32)excess(m->free[(offset >> snitch_of(c)->bank_shift) % m->banks], now);
    if (!r.latency) m->free[(offset >> snitch_of(c)->bank_shift) % m->banks] = now + r.wait + 1;
    c->memory_bytes[m - s->memory] += size;
    c->memory_words[m - s->memory]++;
    if (!is_write) memcpy(&r.value, m->data + offset, size);
    else memcpy(m->data + offset, &value, size), check_written(m, offset, size);
    if (is_write && s->has_tohost && address == s->tohost) host_store(s, (u32)value);
    if (UNLIKELY(s->exited)) return fails(s, c, FAULT_EXIT, pc, now, address, size, is_write);
    return r;
}

static snitch_result device_access(sim *s, core *c, device *d, u32 pc, u64 now, u32 offset, u32 size, u32 is_write, u64 value) {
    snitch_result r = {.latency = d->description->latency[c->group]};
    for (u32 at = 0; at < size; at += 4) {
        access a = {.core = c->id, .pc = pc, .offset = offset + at, .value = (u32)(value >> 8 * at), .is_write = is_write, .now = now};
        (is_write ? d->type->write : d->type->read)(s, d, &a);
        r.wait += a.wait;
        r.value |= (u64)a.value << 8 * at;
    }
    r.failed = s->fault.reason != FAULT_NONE;
    return r;
}

snitch_result snitch_access(sim *s, core *c, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u64 value) {
    u32 offset;
    memory *m = bus_memory(s, c->group, address, size, &offset);
    if (m) return memory_access(s, c, m, pc, now, address, size, is_write, value);
    for (u32 i = 0; i < s->devices; i++) {
        device *d = &s->device[i];
        u32 at = address - d->description->base;
        if (at >= d->description->size) continue;
        if (address % size) return fails(s, c, FAULT_MISALIGNED, pc, now, address, size, is_write);
        return device_access(s, c, d, pc, now, at, size, is_write, value);
    }
    return fails(s, c, FAULT_UNMAPPED, pc, now, address, size, is_write);
}
