/* Vectors from and to memory: side by side, by a stride, by indices; fields of structures to registers of their own. */
#include "vectors/elements.h"

enum { SIDE_BY_SIDE, INDEXED, STRIDED, INDEXED_IN_ORDER }; /* mop */
enum { WHOLE_REGISTERS = 8, OF_MASK = 11, FIRST_ONLY_FAULTS = 16 }; /* lumop, sumop */

/* What is moved: `fields` neighbours in memory for each of some elements, to registers `apart` from each other. */
typedef struct {
    vector_op o;
    u32 mode, fields, bytes, index_bytes, elements, apart, stride, is_neighbours;
} transfer;

static u32 width_of(u32 word) { return field(word, 14, 12) == 0 ? 1 : field(word, 14, 12) == 5 ? 2 : 4; }

static i32 group_of(const vector_op *o, u32 bytes) {
    i32 group = o->group;
    for (u32 b = o->bytes; b < bytes; b *= 2) group++;
    for (u32 b = o->bytes; b > bytes; b /= 2) group--;
    return group;
}

static int whole_registers(transfer *t, u32 is_store) {
    const u32 word = t->o.word;
    t->elements = t->fields * VECTOR_REGISTER / t->bytes;
    t->is_neighbours = 1;
    const int is_power = !(t->fields & (t->fields - 1)) && !(op_vd(&t->o) & (t->fields - 1));
    t->fields = 1;
    return is_power && field(word, 25, 25) && !(is_store && t->bytes != 1);
}

static int of_mask(transfer *t) {
    t->elements = (t->o.u->vl + 7) / 8;
    t->is_neighbours = 1;
    return t->bytes == 1 && t->fields == 1 && field(t->o.word, 25, 25);
}

/* 0: there is no such instruction. */
static int is_transfer(transfer *t, u32 is_store) {
    const u32 word = t->o.word, kind = field(word, 24, 20);
    const vector_unit *u = t->o.u;
    if (field(word, 28, 28)) return 0;
    if (t->mode == SIDE_BY_SIDE && kind == WHOLE_REGISTERS) return whole_registers(t, is_store);
    if (u->vtype & VECTOR_ILLEGAL_TYPE) return 0;
    if (t->mode == SIDE_BY_SIDE && kind == OF_MASK) return of_mask(t);
    if (t->mode == SIDE_BY_SIDE && kind && (is_store || kind != FIRST_ONLY_FAULTS)) return 0;
    const int is_indexed = t->mode == INDEXED || t->mode == INDEXED_IN_ORDER;
    if (is_indexed) t->index_bytes = t->bytes, t->bytes = t->o.bytes;
    const i32 group = group_of(&t->o, t->bytes);
    t->apart = registers_of(group);
    t->is_neighbours = t->mode == SIDE_BY_SIDE && t->fields == 1;
    if (t->mode != STRIDED) t->stride = t->fields * t->bytes;
    if (!is_group(op_vd(&t->o), group) || t->fields * t->apart > 8 || op_vd(&t->o) + t->fields * t->apart > VECTOR_REGISTERS) return 0;
    if (!is_store && !keeps_mask(&t->o)) return 0;
    if (!is_indexed) return 1;
    const i32 of_index = group_of(&t->o, t->index_bytes);
    if (!is_group(op_vs2(&t->o), of_index)) return 0;
    return is_store || t->fields == 1 ? is_store || may_overlap(op_vd(&t->o), group, op_vs2(&t->o), of_index) || t->index_bytes == t->bytes
                                      : op_vd(&t->o) + t->fields * t->apart <= op_vs2(&t->o) || op_vs2(&t->o) + registers_of(of_index) <= op_vd(&t->o);
}

/* An element: from the local memory at hand, or by the bus. */
static bus_result move_one(sim *s, core *c, const insn *ip, u64 now, u32 address, u32 bytes, u32 is_store, u8 *element) {
    vector_unit *const u = c->own;
    const u32 offset = address - c->local_base;
    if (address & (bytes - 1)) {
        sim_fault(s, FAULT_MISALIGNED, c, ip->pc, now, address, bytes, is_store);
        return (bus_result){0, 0, 0, 1};
    }
    if (offset < c->local_size) {
        u8 *const at = c->local + offset;
        memcpy(is_store ? at : element, is_store ? element : at, bytes);
        u->local_bytes += bytes;
        return (bus_result){0, 0, 0, 0};
    }
    const bus_result r = bus_access(s, c, ip, now, address, bytes, is_store, is_store ? get_unsigned(element, bytes) : 0, 0);
    if (!r.failed && !is_store) put(element, bytes, r.value);
    return r;
}

static u32 address_of(const transfer *t, u32 base, u32 i) {
    const int is_indexed = t->mode == INDEXED || t->mode == INDEXED_IN_ORDER;
    return base + (is_indexed ? element(&t->o, op_vs2(&t->o), i, t->index_bytes) : i * t->stride);
}

/* Of loads of which only the first element may fault: those before the first that is not there. */
static int ends_before(sim *s, const core *c, const transfer *t, u32 address, u32 i) {
    const int is_careful = t->mode == SIDE_BY_SIDE && field(t->o.word, 24, 20) == FIRST_ONLY_FAULTS;
    return is_careful && i > t->o.u->vstart && !bus_pointer(s, c->group, address_of(t, address, i), t->fields * t->bytes);
}

vector_moved vector_move(sim *s, core *c, const insn *ip, u64 now, u32 address, u32 stride, u32 is_store) {
    vector_unit *const u = c->own;
    const u32 word = (u32)ip->imm;
    transfer t = {.o = {u, word, 0, 1u << (u->vtype >> 3 & 7), (i32)(u->vtype << 29) >> 29}, .mode = field(word, 27, 26),
                  .fields = field(word, 31, 29) + 1, .bytes = width_of(word), .elements = u->vl, .stride = stride};
    if (!is_transfer(&t, is_store)) return (vector_moved){0, 0};
    if (t.is_neighbours) t.stride = t.bytes;
    u32 waits = 0, moved = 0;
    for (u32 i = u->vstart; i < t.elements; i++) {
        if (!is_active(&t.o, i)) continue;
        if (ends_before(s, c, &t, address, i)) {
            u->vl = i;
            break;
        }
        for (u32 part = 0; part < t.fields; part++, moved++) {
            u8 *const at = element_at(&t.o, op_vd(&t.o) + part * t.apart, i, t.bytes);
            const bus_result r = move_one(s, c, ip, now + waits, address_of(&t, address, i) + part * t.bytes, t.bytes, is_store, at);
            if (r.failed) return (vector_moved){1, 1};
            waits += r.wait;
        }
    }
    u->vstart = 0;
    const u32 own = t.is_neighbours ? (moved * t.bytes + VECTOR_MEMORY_BYTES - 1) / VECTOR_MEMORY_BYTES : moved;
    c->stall[STALL_MEMORY] += own > 1 ? own - 1 : 0;
    return (vector_moved){(own ? own : 1) + waits, 0};
}
