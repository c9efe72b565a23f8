/* Who acts next: actors (cores by rank, then devices) ordered by (cycle, number).
 * A wheel of 64 cycles, each with a bit per actor; what lies further ahead waits in `far`. */
#ifndef TW_QUEUE_H
#define TW_QUEUE_H
#include "base.h"

enum { WHEEL = 64, MAX_ACTORS = 1088, ACTOR_WORDS = MAX_ACTORS / 64 };

typedef struct {
    u64 now;                            /* no actor is scheduled before this cycle */
    u64 occupied;                       /* cycles of the wheel that have actors */
    u64 words[WHEEL];                   /* words of a cycle that have actors */
    u64 actors[WHEEL][ACTOR_WORDS];
    u64 far[ACTOR_WORDS];
    u64 far_time[MAX_ACTORS];
    u64 far_first;
    u32 far_count;
} queue;

static inline void queue_push(queue *q, u32 actor, u64 when) {
    if (UNLIKELY(when - q->now >= WHEEL)) {
        q->far[actor >> 6] |= 1ull << (actor & 63);
        q->far_time[actor] = when;
        q->far_first = q->far_count++ ? earlier(q->far_first, when) : when;
        return;
    }
    u32 slot = (u32)when % WHEEL;
    q->actors[slot][actor >> 6] |= 1ull << (actor & 63);
    q->words[slot] |= 1ull << (actor >> 6);
    q->occupied |= 1ull << slot;
}

void queue_fetch_far(queue *q);
/* `actor`, which must not be scheduled, becomes number 0; those before it move up by one. Actors below 64 only. */
void queue_move_to_front(queue *q, u32 actor);

/* The first cycle of the wheel that has an actor; the wheel must not be empty. */
static inline u64 queue_first_cycle(const queue *q) {
    u32 turn = (u32)q->now % WHEEL;
    u64 rotated = q->occupied >> turn | q->occupied << ((WHEEL - turn) % WHEEL);
    return q->now + (u64)__builtin_ctzll(rotated);
}

static inline u32 queue_first_actor(const queue *q, u32 slot) {
    u32 word = (u32)__builtin_ctzll(q->words[slot]);
    return word * 64 + (u32)__builtin_ctzll(q->actors[slot][word]);
}

/* Takes the first actor out and moves time to it. Returns -1 when nobody is left. */
static inline int queue_pop(queue *q) {
    if (UNLIKELY(q->far_count)) queue_fetch_far(q);
    if (UNLIKELY(!q->occupied)) return -1;
    q->now = queue_first_cycle(q);
    u32 slot = (u32)q->now % WHEEL, word = (u32)__builtin_ctzll(q->words[slot]);
    u64 bits = q->actors[slot][word];
    u32 actor = word * 64 + (u32)__builtin_ctzll(bits);
    if (!(q->actors[slot][word] = bits & (bits - 1)))
        if (!(q->words[slot] &= q->words[slot] - 1)) q->occupied &= ~(1ull << slot);
    return (int)actor;
}

/* The cycle from which `actor` may no longer touch shared state because another one comes first. */
static inline u64 queue_horizon(const queue *q, u32 actor) {
    u64 limit = q->far_count ? q->far_first : NEVER;
    if (q->occupied) {
        u64 when = queue_first_cycle(q);
        limit = earlier(limit, when + (queue_first_actor(q, (u32)when % WHEEL) > actor));
    }
    return limit;
}
#endif
