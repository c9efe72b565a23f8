/* A platform as data: what Python hands over (platform.py holds the same structs for ctypes). */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H
#include "engine/timing.h"

enum { MAX_GROUPS = 4, MAX_MEMORIES = 16, MAX_WINDOWS = 16, MAX_DEVICES = 32, DEVICE_PARAMETERS = 6, NO_MEMORY = 255 };

/* Cores that share an instruction set, a view of the memory map and an instruction cache. */
typedef struct {
    u32 cores, first_hart, flavour, has_float, boots, local_memory;
    u32 private_sets, private_ways;                 /* per core; sets 0: no private level */
    u32 shared_banks, shared_sets, shared_ways;     /* banks 0: no shared level */
    u32 cache_on_at_reset, fpus;
    u32 last_core_private_sets;                     /* 0: like the others */
    u32 loads_in_flight;                            /* 0: any number */
    u32 tiles, tile_cores, tiles_per_group, tiles_with_cores, sequential_bytes; /* 0: cores are in no tiles; the last two of a group and of a tile */
    u32 extensions;                                 /* bits in the order of EXTENSIONS in isa/insn.h */
    u32 has_timing;                                 /* 0: that of its kind of core */
    core_timing timing;
} platform_group;

typedef struct {
    u32 base, size, banks, hides_wait, is_mapped, bank_bytes;
    u32 refill_port_bytes;                          /* 0: lines of shared caches come without waiting for each other */
    u32 latency[MAX_GROUPS], fetch_latency[MAX_GROUPS], uncached_fetch[MAX_GROUPS];
    u32 line_wait, line_bytes, line_ways, reads_ahead; /* of a memory with wait states: cycles of a line that is not at hand */
    u32 code_cache_bytes, data_cache_bytes, is_one_cache;
} platform_memory;

/* A second address range for a memory or devices, seen by some groups only. */
typedef struct {
    u32 base, size, target, groups, test_and_set;
} platform_window;

typedef struct {
    u32 kind, base, size, latency[MAX_GROUPS], parameters[DEVICE_PARAMETERS];
} platform_device;

typedef struct {
    u32 groups, memories, windows, devices;
    platform_group group[MAX_GROUPS];
    platform_memory memory[MAX_MEMORIES];
    platform_window window[MAX_WINDOWS];
    platform_device device[MAX_DEVICES];
} platform;
#endif
