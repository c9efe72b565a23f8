/* A memory-mapped accelerator of your own, in C. Include this, define tw_device(), give the file to Simulator.attach().
 *
 * write() is followed by tick() in the next cycle; tick() returns the cycle in which it wants to be called again, or TW_NEVER.
 * Registers are 32 bits wide. `state` starts as zeros and is part of snapshots. */
#ifndef TW_USER_DEVICE_H
#define TW_USER_DEVICE_H
#include <stddef.h>
#include <stdint.h>

#define TW_NEVER UINT64_MAX
#define TW_STATE_LIMIT 65536 /* bytes */

/* What a core does that the device is not made for; named where misuse is looked for. */
enum { TW_MISUSE_BUSY, TW_MISUSE_ACCESS };

/* Bytes of memory: runs of `run` bytes, `runs` of them `step` apart, and that `rows` times, `row` apart. */
typedef struct {
    uint32_t address, run, runs, step, rows, row;
} tw_part;

typedef struct tw_host {
    void *sim;
    int (*read)(void *sim, uint32_t address, void *data, uint32_t size);         /* 1, or 0 where there is no memory */
    int (*write)(void *sim, uint32_t address, const void *data, uint32_t size);
    void (*raise_event)(void *sim, uint32_t cores, uint32_t line, uint64_t now); /* cores: a mask */
    /* For the sanitizer: what a job reads or writes from now on until release(), and what the core does wrong right now. */
    void (*claim)(const struct tw_host *host, uint32_t address, uint32_t size, int is_write);
    void (*release)(const struct tw_host *host);
    void (*misuse)(const struct tw_host *host, uint32_t what);
    int (*is_checked)(const struct tw_host *host); /* whether anybody looks for misuse: claims cost time */
    /* Accesses to memory that take place over a job's time and compete for banks. move() names them, work() begins the job:
     * reads, then so many cycles of its own, then writes, or all at the same time; tick() comes when all is over. */
    void (*move)(const struct tw_host *host, const tw_part *part, int is_write);
    void (*work)(const struct tw_host *host, uint64_t cycles, double bytes_per_cycle, int overlapped, uint64_t now);
    /* For devices that count every cycle: takes the banks of these bytes and says how many cycles from `now` on they are taken by
     * others; the core that accesses a register right now waits that long for its answer; the run ends with a sentence. */
    uint32_t (*bank)(const struct tw_host *host, uint32_t address, uint32_t size, uint64_t now);
    void (*wait)(const struct tw_host *host, uint32_t cycles);
    void (*fail)(const struct tw_host *host, const char *sentence);
} tw_host;

typedef struct tw_user_device {
    size_t state_bytes;
    void (*reset)(void *state);
    uint32_t (*read)(void *state, const tw_host *host, uint32_t offset, uint64_t now);
    void (*write)(void *state, const tw_host *host, uint32_t offset, uint32_t value, uint64_t now);
    uint64_t (*tick)(void *state, const tw_host *host, uint64_t now);
} tw_user_device;

__attribute__((visibility("default"))) const tw_user_device *tw_device(void);
#endif
