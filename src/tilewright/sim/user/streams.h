/* What a user's device moves over a job's time, word by word: every word takes its bank for a cycle. */
#ifndef TW_STREAMS_H
#define TW_STREAMS_H
#include "engine/sim.h"
#include "user/user_device.h"

enum { MOST_PARTS = 32, RATE_BITS = 10 };
enum { STREAM_IDLE, STREAM_READS, STREAM_COMPUTES, STREAM_WRITES, STREAM_ALL };

typedef struct {
    tw_part part[2][MOST_PARTS];  /* reads, writes */
    u32 parts[2];
    u32 stage, overlapped;
    u32 at, run, runs, rows, done;  /* the part that is moved, and how far it is */
    u32 side, spare;
    u64 rate, budget;             /* bytes per cycle and bytes that may be moved now, times 2^RATE_BITS */
    u64 cycles, started, due;     /* of its own; since when; when the next word is due, or its own work is over */
} streams;

void streams_move(streams *m, const tw_part *part, int is_write);
void streams_begin(streams *m, u64 cycles, double bytes_per_cycle, int overlapped, u64 now);
/* The cycle to come again in; `now` where all is over. */
u64 streams_go_on(sim *s, streams *m, u64 now);
#endif
