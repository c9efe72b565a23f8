/* The rare and the slow cases of the queue. */
#include "engine/queue.h"

void queue_push_far(queue *q, u32 actor, u64 when) {
    u64 bit = 1ull << (actor & 63);
    if (q->far[actor >> 6] & bit) {
        q->far_time[actor] = earlier(q->far_time[actor], when);
    } else {
        q->far[actor >> 6] |= bit;
        q->far_time[actor] = when;
        q->far_count++;
    }
    q->far_first = q->far_count > 1 ? earlier(q->far_first, when) : when;
}

void queue_push_wide(queue *q, u32 actor, u64 when) {
    u64 word = 1ull << (actor >> 6), bit = 1ull << (actor & 63);
    if (when == q->now) {
        q->ready |= word;
        q->ready_words[actor >> 6] |= bit;
        return;
    }
    q->slot[when % WHEEL] |= word;
    q->words[when % WHEEL][actor >> 6] |= bit;
    q->occupied |= 1ull << when % WHEEL;
}

int queue_pop_wide(queue *q) {
    u32 word = (u32)__builtin_ctzll(q->ready);
    u32 actor = word * 64 + (u32)__builtin_ctzll(q->ready_words[word]);
    if (!(q->ready_words[word] &= q->ready_words[word] - 1)) q->ready &= q->ready - 1;
    return (int)actor;
}

u64 queue_horizon_wide(const queue *q, u32 actor) {
    u64 limit = q->far_count ? q->far_first : NEVER;
    if (!q->occupied) return limit;
    u64 when = q->now + queue_distance(q);
    u32 word = (u32)__builtin_ctzll(q->slot[when % WHEEL]);
    u32 first = word * 64 + (u32)__builtin_ctzll(q->words[when % WHEEL][word]);
    return earlier(limit, when + (first > actor));
}

/* Bring into the wheel what is less than a turn away. */
static void fetch_far(queue *q) {
    if (!q->occupied) q->now = q->far_first;
    if (q->far_first - q->now >= WHEEL) return;
    u64 first = NEVER;
    for (u32 word = 0; word < ACTOR_WORDS; word++)
        for (u64 bits = q->far[word]; bits; bits &= bits - 1) {
            u32 actor = word * 64 + (u32)__builtin_ctzll(bits);
            if (q->far_time[actor] - q->now >= WHEEL) {
                first = earlier(first, q->far_time[actor]);
                continue;
            }
            q->far[word] &= ~(1ull << (actor & 63));
            q->far_count--;
            queue_push(q, actor, q->far_time[actor]);
        }
    q->far_first = first;
}

/* Nobody is left in the present cycle: on to the next one. Returns 0 if there is none. */
int queue_advance(queue *q) {
    if (q->far_count) fetch_far(q);
    if (q->ready) return 1;
    if (!q->occupied) return 0;
    q->now += queue_distance(q);
    u32 slot = (u32)q->now % WHEEL;
    q->ready = q->slot[slot];
    q->slot[slot] = 0;
    q->occupied &= ~(1ull << slot);
    if (!q->is_wide) return 1;
    memcpy(q->ready_words, q->words[slot], sizeof q->ready_words);
    memset(q->words[slot], 0, sizeof q->words[slot]);
    return 1;
}

u32 queue_first_far(const queue *q, u64 *when) {
    u64 near = q->occupied ? q->now + queue_distance(q) : NEVER;
    u64 actors = near <= q->far_first ? q->slot[near % WHEEL] : 0;
    *when = earlier(near, q->far_first);
    for (u64 bits = q->far_first <= near ? q->far[0] : 0; bits; bits &= bits - 1)
        if (q->far_time[__builtin_ctzll(bits)] == *when) actors |= bits & -bits;
    return (u32)__builtin_ctzll(actors);
}

void queue_take_all(queue *q, u64 *words) {
    memcpy(words, q->ready_words, sizeof q->ready_words);
    memset(q->ready_words, 0, sizeof q->ready_words);
    if (!q->is_wide) words[0] = q->ready;
    q->ready = 0;
}

static u64 moved_up(u64 word, u32 below) {
    u64 low = word & ((1ull << below) - 1);
    return (word ^ low) | low << 1;
}

void queue_move_to_front(queue *q, u32 actor) {
    u64 *ready = q->is_wide ? &q->ready_words[0] : &q->ready;
    *ready = moved_up(*ready, actor);
    for (u64 slots = q->occupied; slots; slots &= slots - 1) {
        u32 slot = (u32)__builtin_ctzll(slots);
        u64 *word = q->is_wide ? &q->words[slot][0] : &q->slot[slot];
        *word = moved_up(*word, actor);
    }
    q->far[0] = moved_up(q->far[0], actor);
    memmove(&q->far_time[1], &q->far_time[0], actor * sizeof q->far_time[0]);
}
