/* Who acts next: actors (cores by rank, then devices) ordered by (cycle, number).
 *
 * A wheel of 64 cycles holds a bit per actor; those of the present cycle are in `ready`; what lies further ahead
 * waits in `far`, for each actor its first appointment alone: who has a turn and wants a later one says so again.
 * Up to 64 actors a cycle is one word and everything is inline; with more, each cycle has several words and a summary
 * word that tells which of them are not empty. */
#ifndef TW_QUEUE_H
#define TW_QUEUE_H
#include "engine/base.h"

enum { WHEEL = 64, MAX_ACTORS = 1088, ACTOR_WORDS = MAX_ACTORS / 64 };

typedef struct {
    u64 now;                     /* the present cycle; nobody is scheduled before it */
    u64 ready;                   /* actors of the present cycle, or the summary of `ready_words` */
    u64 occupied;                /* cycles of the wheel that have actors */
    u64 slot[WHEEL];             /* actors of a cycle, or the summary of `words` */
    u64 far_first;
    u32 far_count, is_wide;
    u64 ready_words[ACTOR_WORDS];
    u64 words[WHEEL][ACTOR_WORDS];
    u64 far[ACTOR_WORDS];
    u64 far_time[MAX_ACTORS];
} queue;

/* engine/queue.c: the cases that are rare or slow. */
void queue_push_far(queue *q, u32 actor, u64 when);
void queue_push_wide(queue *q, u32 actor, u64 when);
int queue_pop_wide(queue *q);
u64 queue_horizon_wide(const queue *q, u32 actor);
int queue_advance(queue *q);
u32 queue_first_far(const queue *q, u64 *when);
/* All actors of the present cycle leave the queue: 64 in a word. */
void queue_take_all(queue *q, u64 *words);
/* `actor`, which must not be scheduled, becomes number 0; those before it move up by one. Actors below 64 only. */
void queue_move_to_front(queue *q, u32 actor);

static inline void queue_push(queue *q, u32 actor, u64 when) {
    if (UNLIKELY(when - q->now >= WHEEL)) {
        queue_push_far(q, actor, when);
    } else if (UNLIKELY(q->is_wide)) {
        queue_push_wide(q, actor, when);
    } else if (when == q->now) {
        q->ready |= 1ull << actor;
    } else {
        q->slot[when % WHEEL] |= 1ull << actor;
        q->occupied |= 1ull << when % WHEEL;
    }
}

/* The opposite, for actors below 64; what waits in `far` stays there. */
static inline void queue_remove(queue *q, u32 actor, u64 when) {
    if (when == q->now) q->ready &= ~(1ull << actor);
    if (when - q->now - 1 >= WHEEL - 1) return;
    if (!(q->slot[when % WHEEL] &= ~(1ull << actor))) q->occupied &= ~(1ull << when % WHEEL);
}

/* Cycles from now to the next one of the wheel that has an actor. */
static inline u32 queue_distance(const queue *q) {
    u32 turn = (u32)q->now % WHEEL;
    return (u32)__builtin_ctzll(q->occupied >> turn | q->occupied << ((WHEEL - turn) % WHEEL));
}

/* The first actor and its cycle, NEVER where there is none. Actors below 64 only. */
static inline u32 queue_first(const queue *q, u64 *when) {
    if (q->ready) {
        *when = q->now;
        return (u32)__builtin_ctzll(q->ready);
    }
    if (UNLIKELY(q->far_count)) return queue_first_far(q, when);
    *when = q->occupied ? q->now + queue_distance(q) : NEVER;
    return q->occupied ? (u32)__builtin_ctzll(q->slot[*when % WHEEL]) : 0;
}

/* Takes the first actor out and moves time to it. Returns -1 when nobody is left. */
static inline int queue_pop(queue *q) {
    if (UNLIKELY(!q->ready) && !queue_advance(q)) return -1;
    if (UNLIKELY(q->is_wide)) return queue_pop_wide(q);
    u32 actor = (u32)__builtin_ctzll(q->ready);
    q->ready &= q->ready - 1;
    return (int)actor;
}

/* The cycle from which `actor`, just taken out, may no longer touch shared state because another one comes first. */
static inline u64 queue_horizon(const queue *q, u32 actor) {
    if (q->ready) return q->now + 1;
    if (UNLIKELY(q->is_wide)) return queue_horizon_wide(q, actor);
    u64 limit = UNLIKELY(q->far_count) ? q->far_first : NEVER;
    if (q->occupied) {
        u64 when = q->now + queue_distance(q);
        limit = earlier(limit, when + ((u32)__builtin_ctzll(q->slot[when % WHEEL]) > actor));
    }
    return limit;
}
#endif
