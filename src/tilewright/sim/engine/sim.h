/* The simulator's state. Everything that a snapshot must keep lies in one arena. */
#ifndef TW_SIM_H
#define TW_SIM_H
#include "engine/base.h"
#include "engine/declared.h"
#include "engine/platform.h"
#include "engine/queue.h"
#include "engine/timing.h"

enum { PAGE_BITS = 12, PAGE_SLOTS = (1 << PAGE_BITS) / 2, ZERO_SINK = 32 };
#define NO_LINE (~0u)

/* A decoded instruction; one slot per halfword of code. */
typedef struct insn {
    u16 op;      /* what to do when control falls through to here */
    u16 entry;   /* ... when it jumps to here */
    u16 real;    /* the instruction itself */
    u16 start;   /* how it begins, once it is fetched: with itself, or with its probe */
    u8 rd, rs1, rs2, len;
    u8 cost;     /* cycles, including the stall for the previous instruction's result */
    u8 flags;
    u8 rm, dep;
    i32 imm;     /* branches inside a page: distance in bytes of slots */
    u32 pc;
    u32 floats;  /* of those that go to a floating-point unit: a byte each for rd, rs1, rs2, rs3 */
} insn;

enum {
    INSN_LINE = 1,     /* first instruction that needs a fetch line */
    INSN_LOOP_END = 2, /* follows the last instruction of a hardware loop */
    INSN_FAR = 4,      /* branch that leaves the page */
    INSN_LATE = 8,    /* acts on shared state: its own fetch wait is paid after it */
    INSN_SPLIT = 16,   /* costs extra as the target of a jump: its two halves lie in two words */
    INSN_NEW = 32,     /* not decoded yet */
    INSN_TURNS = 64,   /* first of a line with a jump or a branch backwards; for cores that fetch lines ahead */
};

typedef struct code_page {
    insn slot[PAGE_SLOTS + 2];
    u32 base;
    struct code_page *next;
} code_page;

enum { STALL_LOAD_USE, STALL_BRANCH, STALL_MULDIV, STALL_CONFLICT, STALL_MEMORY, STALL_FETCH, STALL_SLEEP, STALL_FPU, STALL_CAUSES };
enum { CORE_OFF, CORE_RUNNING, CORE_WAITING, CORE_AT_BARRIER /* in statistics: one that waits, and for what */ };
enum { COUNT_LOADS, COUNT_STORES, COUNT_COMPRESSED, COUNT_LOAD_STALLS, /* only while performance counters count */
       COUNT_JUMPS, COUNT_BRANCHES, COUNT_TAKEN, COUNT_MUL, COUNT_MULH, COUNT_MAC, COUNT_DOT, COUNT_DIV, COUNT_FLOAT, COUNT_FLOAT_DIV,
       COUNT_FAR_LOADS, COUNT_FAR_STORES, COUNTS };
enum { ACCESS_SIZES = 3 }; /* 1, 2, 4 bytes */

typedef struct {
    u32 sets, ways, random;
    u64 busy, refills, answered; /* answered: the last miss whose line comes through a port, and those that waited behind it */
    u32 *tag;   /* line number + 1; 0 = invalid */
    u64 *ready;
} cache;

/* Lines of a memory with wait states that are at hand, in sets of ways; the oldest use goes first. */
typedef struct {
    u32 sets, ways, line_bytes, wait, reads_ahead;
    u32 last;            /* the line behind the last one that was asked for */
    u64 uses;
    u32 *tag;            /* line + 1 */
    u64 *used;
    u8 *is_dirty;
} read_lines;

typedef struct core {
    u32 x[33];  /* x[32] takes writes to x0 */
    u32 f[32];
    insn *ip;
    u64 t;               /* cycle in which the next instruction issues */
    void *resume;
    u64 instructions;
    u64 late;            /* fetch wait of the current instruction, paid after it */
    u32 line, id, rank, hart, status, group;
    const core_timing *timing;
    u8 *local;           /* the memory that costs nothing to reach */
    u32 local_base, local_size, bank_mask, hide_load_stall;
    u64 *local_free;     /* per bank: first free cycle */
    cache private_cache;
    u32 lp_start[2], lp_end[2], lp_count[2], lp_after[2];
    insn *lp_ip[2], *lp_last[2]; /* first slot; last one if its result comes late */
    u32 fcsr_flags, frm;
    u32 mstatus, mtvec, mepc, mcause, mtval, mscratch, mie, trap_handler_set, reservation, reserved, reserved_value, spare;
    u32 wait_rd, boot_address, hooked;
    u32 next_dep;        /* stall of the instruction at ip, kept while code is decoded anew */
    u64 wait_since, wake_at, wake_delay, started;
    u32 wake_value, spare2;
    u64 *fpu_free, *fdiv_free;
    u64 stall[STALL_CAUSES], local_loads[ACCESS_SIZES], local_stores[ACCESS_SIZES], counted[COUNTS];
    u64 memory_bytes[MAX_MEMORIES], memory_words[MAX_MEMORIES];
    /* performance counters (CSR 0x780..) */
    u32 pcer, pcmr;
    u64 pccr_base[31];
    u32 pccr[31], spare3;
    u64 seen_at, seen_sleep, function_since;
    u32 function, function_start, function_size, spare4;
    u32 previous_next;   /* where sequential control would go: tells a jump from a fall-through */
    u32 last_backward;   /* the branch that is expected to be taken, counted from 1, on cores that remember one */
    void *own;           /* what only its kind of core has, or NULL */
    const struct core_kind *kind;
} core;

typedef struct {
    u8 *data;
    u32 base, size, banks, hides_wait;
    const platform_memory *description;
    u64 *free;           /* per bank: first free cycle */
    u64 refill_free;     /* the same of the port that lines of code leave by, if it has one */
    u64 bytes_read, bytes_written;  /* by devices, on their far side */
    u64 fetched_lines, dma_bytes, npu_bytes; /* what else was asked of it: by instruction caches, and by engines on either side */
    u32 fetcher, spare;  /* the core that fetched code through the port, counted from 1 */
    u8 *written;         /* per byte, while reads of never-written memory are looked for */
    read_lines *code_lines, *data_lines; /* before a memory with wait states; NULL: none. One cache may be both */
} memory;

/* What is looked for on request; lies outside of the arena. */
enum { CHECK_UNWRITTEN = 1, CHECK_PROTECTED = 2, CHECK_TRANSFERS = 4, CHECK_MISUSE = 8 };
typedef struct {
    u32 checks, ranges;
    struct { u32 start, end; } *range;   /* code and constants */
} checker;

/* What a run is watched with; lies outside of the arena. */
typedef struct { u64 start, end; u32 track, name; } span; /* track: core, device, or transfer id of the DMA */
typedef struct { u64 cycles, instructions, sleep; } profile_cell;
typedef struct {
    u32 watching, tracing, functions, spans, room, lost;
    u32 *start;
    profile_cell *profile;   /* [function + 1][core]; row 0: code outside of all functions */
    span *span;
} observer;
enum { SPAN_ASLEEP = 0xffff0000u, SPAN_DMA_OUT, SPAN_DMA_IN, SPAN_DMA_BOTH, SPAN_JOB };

/* What everything has done so far: energy is a sum over these. All are u64 (activity.py holds the same names). */
enum { CLASS_ALU, CLASS_MUL, CLASS_MULH, CLASS_MAC, CLASS_DOT, CLASS_DIV, CLASS_LOAD, CLASS_STORE, CLASS_BRANCH, CLASS_JUMP, CLASS_FLOAT,
       CLASS_FLOAT_DIV, CLASSES };
typedef struct {
    u64 cycles;
    u64 instruction[CLASSES], stalled, asleep;              /* of all cores together */
    u64 stall[STALL_CAUSES];                                /* the same by cause; sleep is not among them */
    u64 private_refills, shared_refills;                    /* lines of instruction caches */
    struct { u64 words, code_words, dma_bytes, npu_bytes; } memory[MAX_MEMORIES]; /* words: by cores; code_words: by their caches */
    u64 dma_bytes, npu_cycles, npu_macs, npu_mac_bits;
} activity;

/* Places in the code whose passing is noted, and what was noted; lies outside of the arena. */
enum { NO_METER = ~0, FIRST_ARGUMENT = 10, ARGUMENTS = 8 };
typedef struct {
    u64 cycle, instructions, stall[STALL_CAUSES];
    u32 core, address;
    u32 meter, pad;      /* which activity belongs to it, or NO_METER */
    u32 argument[ARGUMENTS]; /* a0 to a7 */
} probe_event;
typedef struct { u64 start, end; u32 core, is_in, bytes, counter; } dma_transfer; /* from the command to the last byte */
typedef struct { u64 start, end, device; } engine_job; /* device: its place in the platform's list */
typedef struct {
    u32 places, events, room, lost, transfers, transfer_room, meters, meter_room, jobs, job_room;
    u32 *place;          /* ascending */
    u8 *is_metered;      /* per place */
    u8 *is_probed;       /* per core */
    probe_event *event;
    activity *meter;
    dma_transfer *transfer;
    engine_job *job;
} prober;

/* Watched stacks: see engine/stack_guard.c. */
typedef struct {
    u32 sites;
    u32 *site, *taken;   /* ascending; bytes */
    u32 *bytes, *end;    /* per core; 0: not watched, not known yet */
} stack_guard;

/* One access by a core (or the debugger) to a device. */
typedef struct {
    u32 core, pc, offset, value, is_write, is_elw;
    u64 now;
    u32 blocked;    /* the device will wake the core with sim_wake() */
    u32 wait;       /* cycles until the device takes the access */
} access;

struct sim;
struct device;
typedef struct {
    const char *name;
    size_t state_bytes;
    void (*reset)(struct sim *s, struct device *d);
    void (*read)(struct sim *s, struct device *d, access *a);
    void (*write)(struct sim *s, struct device *d, access *a);
    u64 (*tick)(struct sim *s, struct device *d, u64 now);  /* returns the next cycle to be called in, or NEVER */
    /* The rest may be NULL or 0. */
    int (*conflicts)(const struct sim *s, const struct device *d, const memory *m, u32 address, u32 size, u32 is_write);
    u32 conflict;        /* the fault of a core that touches what is being moved or computed */
    int (*is_at_work)(const struct device *d);              /* a program must not end now */
    void (*count)(const struct device *d, u64 now, activity *a); /* what it has done */
    void (*drain)(struct sim *s, struct device *d);         /* at the end of a run */
    u32 takes_narrow;    /* accesses of less than 4 bytes */
    u32 joins_jobs;      /* those that follow each other at once are one */
} device_type;

typedef struct device {
    const device_type *type;
    const platform_device *description;
    void *state;
    u32 id, actor;
    u64 next;            /* cycle of its next tick, or NEVER */
    u64 busy;            /* cycles at work, for the report */
} device;

enum { FAULT_NONE, FAULT_EXIT, FAULT_ILLEGAL, FAULT_UNMAPPED, FAULT_MISALIGNED, FAULT_DEADLOCK, FAULT_LIMIT, FAULT_BREAKPOINT,
       FAULT_DEVICE, FAULT_TRAP, FAULT_FETCH, FAULT_STOPPED, FAULT_UNWRITTEN, FAULT_PROTECTED, FAULT_TRANSFER, FAULT_COMMAND, FAULT_MISUSE, FAULT_STACK };

typedef struct {
    u32 reason, core, pc, address, size, is_write, value, pad;
    u64 cycle;
} fault;

enum { MAP_NONE = 0xff, MAP_DEVICES = 0xfe, MAP_WINDOW = 0x80 };

/* What a group of cores sees: one byte per page of the 4 GiB. */
typedef struct {
    u8 *map;
    code_page **code;
    code_page *pages;
    u32 flavour, has_float, extensions;
    const struct core_kind *kind;
    const core_timing *timing;
} view;

typedef struct {
    cache bank[16];
    u32 banks, on;
} shared_cache;

typedef struct sim {
    u8 *arena;
    size_t arena_bytes, used;
    u32 cores, devices, memories, groups;
    core *core, **by_rank;       /* by_rank: in the order of acting within a cycle */
    device device[MAX_DEVICES];
    memory memory[MAX_MEMORIES];
    view view[MAX_GROUPS];
    shared_cache *icache;        /* per group */
    u64 *fpu_free, *fdiv_free;
    queue queue;
    u64 horizon, stop, now;
    u32 running;                 /* actor */
    u32 exit_code, exited;
    fault fault;
    u32 tohost, has_tohost, fromhost, pad;
    u32 breakpoints;
    u32 breakpoint[64];
    u32 step_core, is_stepping;
    u32 only_core, is_locked;    /* a debugger holds all cores but one */
    observer observer;
    checker checker;
    prober prober;
    stack_guard guard;
    struct device *event_unit;   /* the one that lines go to */
    void *own;                   /* what only the kind of its first core has, or NULL */
    declared_table declared;
    u32 out_used, out_size;
    char *out;
    platform description;        /* last, because it is large and the rest is used all the time */
} sim;

/* What a core has done beside what is counted of every core. */
typedef struct {
    u64 repeated;        /* instructions without an issue of their own */
    u64 streamed;        /* elements that it moved from and to a memory by itself */
    u32 memory, element_bytes, is_at_barrier;
} core_extras;

/* A kind of core: what its folder gives to the engine. Where nothing else is said, NULL is for nothing. */
typedef struct core_kind {
    const core_timing *timing;
    void (*run)(sim *s);                                    /* until a fault, or s->stop */
    void (*decode)(sim *s, u32 group, insn *slot);
    void (*place)(sim *s, u32 group, insn *slot);           /* where control comes in; probes may have changed */
    size_t (*bytes)(const platform_group *g);               /* of the arena */
    void (*build_group)(sim *s, u32 group);
    void (*build_core)(sim *s, core *c, u32 index);         /* index: in its group */
    u64 *(*float_register)(const core *c, u32 number);      /* NULL: those of 32 bits */
    core_extras (*extras)(const core *c);
    void (*count)(const sim *s, activity *a);               /* of all cores of its kind together */
    const char *(*collides)(const sim *s, u32 group, u32 mask, u32 match); /* an instruction of the core's own with these words */
    u32 keeps_order;     /* a core that is woken does not come first within a cycle, and slots hold no stalls */
    u32 checks_misuse;   /* of its own instructions */
} core_kind;

/* kinds/kinds.c: in the order of platform.py */
extern const core_kind *const CORE_KINDS[];
extern const device_type *const DEVICE_TYPES[];
/* engine/code.c */
insn *code_at(sim *s, u32 group, u32 pc);
void code_decode(sim *s, u32 group, insn *slot);
void code_flush(sim *s);
void code_note_stalls(sim *s);
void code_forget(sim *s);
void code_place_probes(sim *s);
void insn_add_stall(insn *slot, u32 stall);
void insn_place_branch(insn *slot);
/* engine/icache.c */
u32 icache_wait(sim *s, core *c, u32 line, u64 now);
void icache_flush(sim *s, u32 group);
/* engine/bus.c */
typedef struct { u32 value, wait, blocked, failed; } bus_result;
bus_result bus_access(sim *s, core *c, const insn *ip, u64 now, u32 address, u32 size, u32 is_write, u32 value, u32 is_elw);
u8 *bus_pointer(sim *s, u32 group, u32 address, u32 size);
memory *bus_memory(sim *s, u32 group, u32 address, u32 size, u32 *offset);
u32 bank_wait(memory *m, u32 offset, u64 now);
/* engine/lines.c */
size_t lines_bytes(const platform_memory *p);
void lines_build(sim *s, memory *m);
u32 lines_wait(read_lines *k, u32 offset, u32 size, int is_write);
/* devices/console.c */
void sim_print(sim *s, const char *text, u32 length);
/* engine/host.c */
void host_store(sim *s, u32 value);
/* engine/sim.c */
void sim_schedule(sim *s, u32 actor, u64 when);
void sim_wake(sim *s, u32 core, u64 when, u32 value);
void sim_start_core(sim *s, u32 core, u32 pc, u64 when);
void sim_stop_core(sim *s, u32 core, u64 now);
void sim_fault(sim *s, u32 reason, const core *c, u32 pc, u64 cycle, u32 address, u32 size, u32 is_write);
void *sim_allocate(sim *s, size_t bytes);
device *sim_device(const sim *s, const device_type *type);
int sim_is_at_work(const sim *s);
int sim_hits_breakpoint(sim *s, core *c, u32 pc);
/* devices/event_unit.c */
void event_raise(sim *s, u32 core_mask, u32 line, u64 now);
void event_forget(sim *s, u32 core);
/* engine/check.c */
void check_begin(sim *s, u32 checks);
void check_protect(sim *s, u32 start, u32 end);
void check_end(sim *s);
size_t check_bytes(const sim *s);
void check_save(const sim *s, u8 *to);
void check_restore(sim *s, const memory *saved, const u8 *from);
void check_written(memory *m, u32 offset, u32 size);
void check_take(const memory *m, u32 offset, u32 size, u8 *known);
void check_carry(memory *m, u32 offset, u32 size, const u8 *known);
u32 check_device_write(const sim *s, const memory *m, u32 offset, u32 size);
u32 check_access(sim *s, memory *m, u32 address, u32 size, u32 is_write);
void check_misuse(sim *s, u32 what, int is_misuse, const access *a);
int check_fetch(sim *s, const core *c, u32 pc, u64 now);
/* engine/packing.c */
size_t packed_bytes(const u8 *data, size_t size);
u8 *pack(const u8 *data, size_t size, u8 *to);
const u8 *unpack(u8 *data, size_t size, const u8 *from);
/* engine/activity.c */
void activity_until(const sim *s, u64 now, activity *a);
/* engine/observe.c */
void observe(sim *s, core *c, u32 pc, u64 now);
void observe_begin(sim *s, const u32 *starts, u32 count, u32 tracing);
void observe_close(sim *s, u64 now);
void observe_end(sim *s);
void observe_span(sim *s, u32 track, u32 name, u64 start, u64 end);
/* engine/probe.c */
int probe_is_at(const sim *s, u32 pc);
/* engine/stack_guard.c */
int guard_is_at(const sim *s, u32 pc);
void guard_pass(sim *s, const core *c, u32 pc, u64 now);
void guard_begin(sim *s, const u32 *sites, const u32 *taken, u32 count, const u32 *bytes);
void guard_end(sim *s);
void probe_pass(sim *s, const core *c, u32 pc, u64 now, u64 instructions);
void probe_begin(sim *s, const u32 *places, const u8 *metered, u32 count, const u8 *cores);
void probe_transfer(sim *s, const dma_transfer *done);
void probe_job(sim *s, const device *d, u64 start, u64 end);
void probe_rewind(sim *s, const prober *then);
void probe_end(sim *s);
/* engine/api.c */
u64 tw_now(const sim *s);
void core_stalls(const core *c, u64 end, u64 instructions, u64 *stall);
u64 core_end(const core *c, u64 now, u64 *asleep);
#endif
