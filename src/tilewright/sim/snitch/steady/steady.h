/* Bodies of frep whose instructions begin one each cycle, with operands from streams. While a unit is at such a body, all that others can
 * see of it are the accesses of its data movers. Those are made here, for all such units together, in the order of cycles and cores; what
 * the unit computes is made up for when that ends. Its core goes on meanwhile, and waits as long as it needs the unit.
 *
 * Instruction k is planned for cycle `from` + k. A stream is read at regular distances, so it is known when each of its elements is needed
 * and when its place in the FIFO is free again. An element that comes later than it is needed ends the plan. */
#ifndef TW_STEADY_H
#define TW_STEADY_H
#include "snitch/ssr.h"

enum { NOT_KNOWN, REGULAR, IRREGULAR };
enum { STEADY_UNITS = 16, STEADY_RANKS = STEADY_UNITS - 1, STEADY_LOG = 256, STEADY_LONGEST = STEADY_LOG - 2 * STREAM_FIFO, STEADY_LEAST = 8 };

struct steady_unit;
/* Where a data mover is. */
typedef struct {
    u64 due, ready;              /* its next access; when the element of the last one is there */
    u64 opens, needed;           /* when there is a place for the next element; when that is needed */
    u32 offset, left, logged;    /* in TCDM; elements of the row beyond the next one; elements that are there, from the present one on */
    u32 pad;
} mover_place;

/* A data mover that feeds such a body. */
typedef struct {
    mover_place at;
    u64 step;                    /* cycles from element to element */
    u32 stride, begun;           /* begun: elements that were there first */
    u32 number, index;           /* which data mover; which of all that are here */
    struct steady_unit *unit;
    u64 log[STEADY_LOG];
} steady_mover;

typedef struct steady_unit {
    core *c;
    u64 from, until;             /* cycles of the first instruction and after the last one */
    u64 limit;                   /* up to here it could go on if there were more instructions */
    u32 movers, pad;
    steady_mover mover[STREAM_MOVERS];
} steady_unit;

typedef struct { const u8 *data; u64 *free; u32 size, shift, mask; } banks; /* free: from when on, per bank */

typedef struct steady {
    u32 movers, pad;
    u64 now, first_end;          /* accesses before this cycle are made; when the first plan ends */
    u64 quiet_from;              /* from when on it is worth a try to make many cycles at once */
    u32 quiet_pause;             /* for how long it is not, after the next time that it fails */
    u32 rank;                    /* in the present cycle those of cores of lower rank are made, too */
    banks tcdm;
    u64 due[STEADY_UNITS * STREAM_MOVERS];             /* of each of these: */
    steady_mover *mover[STEADY_UNITS * STREAM_MOVERS]; /* by rank */
    u8 first_of[STEADY_UNITS];                         /* the first of those of each rank, or of higher ones */
    steady_unit *steady[STEADY_UNITS];                 /* by rank, too */
    steady_unit unit[STEADY_UNITS];                    /* of each rank */
} steady;

/* Where a body is being repeated: */
static inline int steady_may_begin(const snitch *n) {
    const fpu_entry *head = &n->queue[n->first];
    return n->streams_on && head->repeats > n->repetition && n->used && head->regularity != IRREGULAR && !n->is_steady;
}
/* Is the unit of a core, whose turn it is, steady from now on? If the core waits for it, it is not in the queue until that ends. */
int steady_begin(sim *s, core *c);
/* A core begins to wait for its unit, which is steady. */
void steady_wait(sim *s, core *c);
/* Makes the accesses that come before the first actor of the queue; there may be another one then. */
void steady_advance(sim *s);
/* Ends all plans: units and data movers are where they are in the present cycle. `running`: a core that is not in the queue, or NULL. */
void steady_end_all(sim *s, const core *running);

/* Instructions of a body. */
static inline const fpu_entry *steady_entry(const snitch *n, u32 position) { return &n->queue[(n->first + position) % FPU_QUEUE]; }
/* Beyond a row. */
static inline void steady_next_row(steady_mover *p, const core *c) {
    data_mover *m = &c->snitch->mover[p->number];
    m->address = p->at.offset + c->local_base;
    mover_next_row(m);
    p->at.offset = m->address - c->local_base, p->at.left = m->bound[0];
    if (!m->is_running) p->at.due = NEVER;
}

/* snitch/steady/plan.c: is there a plan for the unit from now on? It is in the place of the core's rank. */
int steady_plan(steady *y, core *c);
/* ... and for its last instructions, which leave the queue, where the core waits for them. */
void steady_extend(const core *c, steady_unit *u);
/* snitch/steady/quiet.c: makes whole cycles up to some end, as long as no data mover is held up. */
void steady_quiet(steady *y, u64 end);
/* snitch/steady/compute.c: instructions of a body from the present position on. Elements: where each stream is in its log. */
typedef struct { const u64 *element; u32 delivered, repeat; } delivery;
void steady_compute(core *c, snitch *n, u32 body, u64 count, delivery *d);
#endif
