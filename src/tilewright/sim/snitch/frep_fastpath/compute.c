/* What a fastpath unit computes (fastpath.h). */
#include "floats/float32_host.h"
#include "snitch/frep_fastpath/fastpath.h"

/* Is it products of pairs of singles that are added, to nearest, while the flag for inexact is up already? */
static inline int is_quick(const core *c, const fpu_entry *e) {
    return e->op == SN_vfmac_s && !e->lanes_repeat && e->rm == RM_NEAREST_EVEN && (c->fcsr_flags & FLAG_INEXACT);
}

static inline u64 result_of(core *c, const snitch *n, const fpu_entry *e, u32 all) {
    const u32 rs1 = all >> 8 & 63, rs2 = all >> 16 & 63, rs3 = all >> 24;
    const u32 unchecked = (rs1 > NO_REGISTER) | (rs2 > NO_REGISTER) << 1 | (rs3 > NO_REGISTER) << 2;
    u64 quick;
    if (is_quick(c, e) && f32_fma_pair_quick(n->f[rs1], n->f[rs2], n->f[rs3], &quick)) return quick;
    return fpu_execute(c, e, n->f[rs1], n->f[rs2], n->f[rs3], unchecked);
}

static inline void deliver(snitch *n, u32 i, delivery *d) {
    if (d->delivered++ != d->repeat) return;
    d->delivered = 0;
    n->f[STREAM_REGISTER + i] = *++d->element;
}

static inline void deliver_all(snitch *n, u32 reads, delivery *d) {
    if (reads & 1) deliver(n, 0, &d[0]);
    if (reads & 2) deliver(n, 1, &d[1]);
    if (reads & 4) deliver(n, 2, &d[2]);
}

/* Instructions one by one. Returns the position of the next one. */
static u32 compute_each(core *c, snitch *n, u32 body, u32 position, u64 count, delivery *d) {
    for (; count; count--) {
        const fpu_entry *e = fastpath_entry(n, position);
        n->f[e->registers & 63] = result_of(c, n, e, e->registers);
        deliver_all(n, e->reads, d);
        position = position + 1 == body ? 0 : position + 1;
    }
    return position;
}

/* ---- bodies that consist of sums of products ---- */

/* An operand in each turn of a body: where it is in the first one, and how much further in the next one. */
typedef struct { const u64 *at; u64 step; } operand;
typedef struct { u32 sum, pad; operand a, b; } product;
enum { ABREAST = 4 };

/* Do all elements that a body's turn reads of a stream end with it? */
static int is_aligned(const fpu_entry *head, u32 i, const delivery *d, u32 *elements) {
    const u32 reads = head->gap[i] ? head->body / head->gap[i] : 0;
    *elements = (u32)(reads / (d->repeat + 1ull));
    return !reads || (!d->delivered && *elements * (d->repeat + 1ull) == reads);
}

static operand operand_of(const snitch *n, u32 number, const delivery *d, const u32 *elements, const u32 *read) {
    if (number <= NO_REGISTER) return (operand){&n->f[number], 0};
    const u32 i = number - STREAM_REGISTER;
    return (operand){d[i].element + read[i] / (d[i].repeat + 1ull), elements[i]};
}

/* Is a body like that, with sums that are independent of each other? */
static int find_products(const core *c, const snitch *n, u32 body, const delivery *d, const u32 *elements, product *found) {
    u32 read[STREAM_MOVERS] = {0};
    u64 sums = 0, factors = 0;
    for (u32 p = 0; p < body; p++) {
        const fpu_entry *e = fastpath_entry(n, p);
        const u32 all = e->registers, rd = all & 63, rs1 = all >> 8 & 63, rs2 = all >> 16 & 63;
        if (!is_quick(c, e) || rd != all >> 24 || (sums >> rd & 1)) return 0;
        sums |= 1ull << rd, factors |= 1ull << rs1 | 1ull << rs2;
        found[p] = (product){rd, 0, operand_of(n, rs1, d, elements, read), operand_of(n, rs2, d, elements, read)};
        for (u32 i = 0; i < STREAM_MOVERS; i++) read[i] += e->reads >> i & 1;
    }
    return !(sums & factors);
}

/* Some sums over many turns. Returns 0, and leaves them as they were, where a result is not within range. */
static inline __attribute__((always_inline)) int add_products(u64 *f, const product *of, u32 sums, u64 turns) {
    f32_pair sum[ABREAST];
    f32_pair_range range[ABREAST];
    for (u32 k = 0; k < sums; k++) sum[k] = f32_pair_of(f[of[k].sum]), range[k] = (f32_pair_range){0};
    for (u64 turn = 0; turn < turns; turn++)
        for (u32 k = 0; k < sums; k++) {
            sum[k] = f32_fma_of_pairs(f32_pair_of(of[k].a.at[turn * of[k].a.step]), f32_pair_of(of[k].b.at[turn * of[k].b.step]), sum[k]);
            range[k] = f32_pair_range_with(range[k], sum[k]);
        }
    for (u32 k = 0; k < sums; k++)
        if (!f32_pair_range_is_within(range[k])) return 0;
    for (u32 k = 0; k < sums; k++) memcpy(&f[of[k].sum], &sum[k], sizeof sum[k]);
    return 1;
}

static void deliver_turns(snitch *n, u64 turns, const u32 *elements, delivery *d) {
    for (u32 i = 0; i < STREAM_MOVERS; i++)
        if (elements[i]) d[i].element += turns * elements[i], n->f[STREAM_REGISTER + i] = *d[i].element;
}

/* Whole turns of a body from its first instruction on, if it is like that and all results are within range. */
static int compute_turns(const core *c, snitch *n, u32 body, u64 turns, delivery *d) {
    product of[FPU_QUEUE];
    u32 elements[STREAM_MOVERS];
    u64 f[NO_REGISTER];
    for (u32 i = 0; i < STREAM_MOVERS; i++)
        if (!is_aligned(&n->queue[n->first], i, &d[i], &elements[i])) return 0;
    if (!find_products(c, n, body, d, elements, of)) return 0;
    memcpy(f, n->f, sizeof f);
    u32 p = 0;
    for (; p + ABREAST <= body; p += ABREAST)
        if (!add_products(f, &of[p], ABREAST, turns)) return 0;
    for (; p < body; p++)
        if (!add_products(f, &of[p], 1, turns)) return 0;
    memcpy(n->f, f, sizeof f);
    deliver_turns(n, turns, elements, d);
    return 1;
}

void fastpath_compute(core *c, snitch *n, u32 body, u64 count, delivery *d) {
    const u64 first = earlier(count, n->position ? body - n->position : 0), turns = (count - first) / body;
    u32 position = compute_each(c, n, body, n->position, first, d);
    if (turns && compute_turns(c, n, body, turns, d)) count -= turns * body;
    compute_each(c, n, body, position, count - first, d);
}
