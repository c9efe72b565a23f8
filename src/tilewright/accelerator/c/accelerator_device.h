/* The model of an accelerator in C: say how long a job takes and what it computes, the rest is done here. NAME_device.h,
 * which is generated, includes this.
 *
 *   static uint64_t cycles(const registers *r);
 *   static void compute(const registers *r, job *j);
 *
 * A job begins when the start register is written. Operands are read and results are there when its time is over: a driver
 * that looks too early sees what was there before. */
#ifndef TW_ACCELERATOR_DEVICE_H
#define TW_ACCELERATOR_DEVICE_H

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "user_device.h"

enum { JOB_PARTS = 16 };

/* What a job has of memory while it computes. */
typedef struct {
    const tw_host *host;
    jmp_buf stopped; /* where a job goes on that cannot be computed */
    int rehearses; /* only counts what it would touch */
    uint64_t traffic;
    int parts;
    struct {
        void *data;
        uint32_t address, size;
        int is_result;
    } part[JOB_PARTS];
} job;

static uint64_t cycles(const registers *r);
static void compute(const registers *r, job *j);

/* Ends the run with a sentence, and what to try in a second line; does not return. */
static inline _Noreturn void job_stop(job *j, const char *sentence) {
    j->host->fail(j->host, sentence);
    longjmp(j->stopped, 1);
}

static void *job_part(job *j, uint32_t address, uint32_t size, int is_result) {
    if (j->parts == JOB_PARTS) job_stop(j, "reads and writes more than 16 parts of memory in a job\njoin parts, or compute fewer at a time");
    void *data = calloc((size_t)size + 1, 1);
    if (!data) job_stop(j, "has no memory for an operand or a result of a job\nlook at the sizes that the driver writes");
    j->traffic += size;
    if (j->rehearses && j->host->is_checked(j->host)) j->host->claim(j->host, address, size, is_result);
    if (j->rehearses && DEVICE_BUS_CONTENDS) j->host->move(j->host, &(tw_part){address, size, 1, 0, 1, 0}, is_result);
    if (!is_result && !j->rehearses) j->host->read(j->host->sim, address, data, size);
    j->part[j->parts].data = data;
    j->part[j->parts].address = address;
    j->part[j->parts].size = size;
    j->part[j->parts++].is_result = is_result;
    return data;
}

/* Bytes of memory as they are now. */
static inline const void *job_in(job *j, uint32_t address, uint32_t size) { return job_part(j, address, size, 0); }

/* Bytes that go to memory when the job has been computed; zeros at first. */
static inline void *job_out(job *j, uint32_t address, uint32_t size) { return job_part(j, address, size, 1); }

/* Computes it; whether that was possible. */
static int job_done(const registers *r, job *j) {
    if (setjmp(j->stopped)) return 0;
    compute(r, j);
    return 1;
}

static void job_run(const registers *r, job *j) {
    const int is_done = job_done(r, j);
    for (int i = 0; i < j->parts; i++) {
        if (is_done && j->part[i].is_result && !j->rehearses)
            j->host->write(j->host->sim, j->part[i].address, j->part[i].data, j->part[i].size);
        free(j->part[i].data);
    }
}

/* ---- the register file ---- */

static const uint32_t device_offsets[] = DEVICE_OFFSETS;
enum { DEVICE_REGISTERS = sizeof device_offsets / sizeof device_offsets[0] };

typedef struct {
    union {
        registers named;
        uint32_t word[DEVICE_REGISTERS];
    } values;
    uint64_t done;
    int works;
} device_state;

static int device_number(uint32_t offset) {
    for (int i = 0; i < DEVICE_REGISTERS; i++)
        if (device_offsets[i] == offset) return i;
    return -1;
}

static uint32_t *device_done(device_state *d) { return &d->values.word[device_number(DEVICE_DONE)]; }

static void device_reset(void *state) { memset(state, 0, sizeof(device_state)); }

static uint32_t device_read(void *state, const tw_host *host, uint32_t offset, uint64_t now) {
    const int number = device_number(offset);
    (void)now;
    if (number >= 0 && DEVICE_ACCESS[number] != 'w') return ((device_state *)state)->values.word[number];
    host->misuse(host, TW_MISUSE_ACCESS);
    return 0;
}

/* How long a job takes, as far as it is known when it begins. */
static uint64_t device_begun(const device_state *d, const tw_host *host, uint64_t now) {
    const uint64_t own = cycles(&d->values.named);
    if (DEVICE_BUS_BYTES_PER_CYCLE == 0 && !host->is_checked(host)) return own;
    job j = {.host = host, .rehearses = 1};
    host->claim(host, 0, 0, 0);
    job_run(&d->values.named, &j);
    if (DEVICE_BUS_BYTES_PER_CYCLE == 0) return own;
    if (DEVICE_BUS_CONTENDS) {
        host->work(host, own, DEVICE_BUS_BYTES_PER_CYCLE, DEVICE_BUS_OVERLAPPED, now);
        return 0;
    }
    const double rate = DEVICE_BUS_BYTES_PER_CYCLE + (DEVICE_BUS_BYTES_PER_CYCLE == 0);
    const double exact = (double)j.traffic / rate;
    const uint64_t moving = (uint64_t)exact + (exact > (double)(uint64_t)exact);
    return DEVICE_BUS_OVERLAPPED ? (own > moving ? own : moving) : own + moving;
}

static void device_write(void *state, const tw_host *host, uint32_t offset, uint32_t value, uint64_t now) {
    device_state *d = state;
    const int number = device_number(offset);
    if (number < 0 || DEVICE_ACCESS[number] == 'r') {
        host->misuse(host, TW_MISUSE_ACCESS);
        return;
    }
    if (d->works) {
        host->misuse(host, TW_MISUSE_BUSY);
        return;
    }
    d->values.word[number] = value;
    if (offset != DEVICE_START) return;
    *device_done(d) &= ~DEVICE_DONE_BITS;
    d->works = 1;
    d->done = now + device_begun(d, host, now);
}

static uint64_t device_tick(void *state, const tw_host *host, uint64_t now) {
    device_state *d = state;
    if (!d->works) return TW_NEVER;
    if (now < d->done) return d->done;
    d->works = 0;
    host->release(host);
    job j = {.host = host};
    job_run(&d->values.named, &j);
    *device_done(d) |= DEVICE_DONE_BITS;
    if (DEVICE_EVENT_LINE >= 0) host->raise_event(host->sim, 0xffff, DEVICE_EVENT_LINE, now);
    return TW_NEVER;
}

const tw_user_device *tw_device(void) {
    static const tw_user_device DEVICE = {sizeof(device_state), device_reset, device_read, device_write, device_tick};
    return &DEVICE;
}

#endif
