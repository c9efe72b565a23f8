/* What a Snitch core has beyond a plain one: a scoreboard, a floating-point unit behind a queue, data movers. */
#ifndef TW_SNITCH_H
#define TW_SNITCH_H
#include "isa/insn.h"
#include "kinds/kinds.h"
#include "snitch/timing.h"

/* KIND(name, where): executed by the integer core, queued for the floating-point unit, or handed to it past the queue. */
enum { IN_CORE, IN_QUEUE, PAST_QUEUE };
#define SNITCH_KINDS \
    KIND(ALU, IN_CORE) KIND(NOP, IN_CORE) KIND(JAL, IN_CORE) KIND(JALR, IN_CORE) KIND(BRANCH, IN_CORE) KIND(MUL, IN_CORE) KIND(MULH, IN_CORE) \
    KIND(DIV, IN_CORE) KIND(DIVU, IN_CORE) KIND(DECLARED, IN_CORE) KIND(LOAD, IN_CORE) KIND(STORE, IN_CORE) KIND(LR, IN_CORE) KIND(SC, IN_CORE) KIND(AMO, IN_CORE) \
    KIND(CSR, IN_CORE) KIND(TRAP, IN_CORE) KIND(MRET, IN_CORE) KIND(WFI, IN_CORE) KIND(FENCEI, IN_CORE) \
    KIND(FREP, IN_CORE) KIND(DMA, IN_CORE) KIND(DMA_START, IN_CORE) KIND(DMA_STATUS, IN_CORE) \
    KIND(FLOAD, IN_QUEUE) KIND(DLOAD, IN_QUEUE) KIND(FSTORE, IN_QUEUE) KIND(DSTORE, IN_QUEUE) KIND(FOP, IN_QUEUE) KIND(DOP, IN_QUEUE) \
    KIND(VOP, IN_QUEUE) KIND(FPICK, IN_QUEUE) KIND(DPICK, IN_QUEUE) KIND(VPICK, IN_QUEUE) KIND(VPACK, IN_QUEUE) KIND(FDIV, IN_QUEUE) \
    KIND(DDIV, IN_QUEUE) \
    KIND(FTOX, PAST_QUEUE) KIND(FMVX, PAST_QUEUE) KIND(DTOX, PAST_QUEUE) KIND(VTOX, PAST_QUEUE) KIND(XTOF, PAST_QUEUE) \
    KIND(FMVF, PAST_QUEUE) KIND(XTOD, PAST_QUEUE) KIND(FTOD, PAST_QUEUE) KIND(DTOF, PAST_QUEUE) \
    KIND(STREAM_READ, PAST_QUEUE) KIND(STREAM_WRITE, PAST_QUEUE)
#define KIND(name, where) SNITCH_##name,
enum { SNITCH_KINDS SNITCH_KIND_COUNT };
#undef KIND
enum {
    SNITCH_BEFORE_FIRST = OP_FIRST - 1,
#define RV(name, ...) SN_##name,
#include "snitch/snitch.def"
#undef RV
    SN_COUNT
};

/* Registers of the floating-point unit: those that can be named, none, and the streams that stand for ft0..ft2 while they are on. */
enum { NO_REGISTER = 32, STREAM_REGISTER = 33, UNIT_REGISTERS = STREAM_REGISTER + STREAM_MOVERS, MOST_LOADS = 16 };

/* Of a kind of instruction: cycles to its result, and to the next instruction. */
typedef struct { u8 latency, interval, is_access, is_packed; } fpu_traits;

/* An instruction on its way to the floating-point unit. */
typedef struct {
    u64 when;            /* earliest cycle */
    u32 registers;       /* a byte each for rd, rs1, rs2, rs3 */
    u32 named, stagger;  /* the same as the instruction has them, and what each repetition adds to them */
    u32 operand;         /* the address of an access */
    u32 pc;
    u32 body, repeats;   /* first of a sequence: its length, and how often it is executed beyond the first time */
    fpu_traits of;
    u16 op;
    u8 kind, rm, lanes_repeat, stagger_max, reads, is_shared; /* reads: bits of the streams that are read; is_shared: others see when it begins */
    u8 regularity, gap[STREAM_MOVERS], phase[STREAM_MOVERS]; /* first of a sequence: what frep_fastpath/ found out about it */
    u8 spare[9];         /* up to a power of two */
} fpu_entry;

/* One of the streams behind ft0..ft2. */
typedef struct {
    u64 next;            /* earliest cycle of its next access */
    u64 due;             /* cycle of its next access, or NEVER */
    u32 head, used, delivered, repeat, is_write, is_running, address, loops, pointer;
    u64 room;            /* of a stream to memory: elements that it still takes */
    u64 fifo[STREAM_FIFO], ready[STREAM_FIFO];
    u32 bound[STREAM_LOOPS], stride[STREAM_LOOPS], count[STREAM_LOOPS];
} data_mover;

typedef struct snitch {
    u64 due;                      /* lower bound of what the unit and the data movers do next */
    u64 next, idle;               /* of the unit: next begin; all done */
    u64 on_fastpath;                /* all ones while frep_fastpath/ drives the unit and the data movers, which are due NEVER then; else 0 */
    u32 first, used, position;    /* position: of the next instruction, from the first */
    u32 repetition, stagger;      /* of a body that is repeated; what is added to its registers */
    u32 streams_on, accesses;     /* loads and stores in the queue */
    u32 tcdm;                     /* which memory is the TCDM */
    u32 waits_for_unit, bank_shift; /* the core goes on when there are fewer instructions than this in the queue; 0: it does not wait */
    u64 port_free;                /* the port that loads, stores and stream 0 share */
    u64 repeated;                 /* instructions that frep repeated */
    u64 moved;                    /* elements of streams from and to TCDM */
    u64 last_ready;               /* when the last result that comes late is there */
    u64 past_end;                 /* end of the last instruction past the queue */
    u32 most_loads, loads;        /* in flight, 0 for any number; how many there were */
    u64 returns[MOST_LOADS];      /* when the last ones come back */
    u64 x_ready[33];              /* when results that come late are there */
    u64 f[UNIT_REGISTERS], f_ready[UNIT_REGISTERS]; /* of a stream: the present element; NEVER where none was fetched */
    fpu_entry queue[FPU_QUEUE];
    u64 freed[FPU_QUEUE];         /* when a place in the queue was left */
    u32 frep_left, frep_body, frep_repeats, frep_is_inner, frep_max, frep_mask;
    data_mover mover[STREAM_MOVERS];
    u32 unread;                   /* movers that were set up to be read, and their registers not written since; kept while misuse is checked */
    u32 fmode, mip, is_at_barrier;
    u32 line[2];                  /* lines of code at hand: the present one and the one before */
} snitch;

/* What the cores of a cluster share. */
typedef struct {
    device *xdma;
    struct fastpath *fastpath;        /* during a run */
    u32 units;                    /* floating-point units that frep_fastpath/ drives */
} snitch_cluster;

static inline snitch *snitch_of(const core *c) { return c->own; }
static inline snitch_cluster *cluster_of(const sim *s) { return s->own; }

/* snitch/decode.c */
void snitch_decode(sim *s, u32 group, insn *slot);
const char *snitch_collides(const sim *s, u32 group, u32 mask, u32 match);
void snitch_place(sim *s, u32 group, insn *slot);
/* snitch/cache.c */
u32 snitch_fetch_wait(sim *s, core *c, u32 line, u64 now);
u32 snitch_kind(u32 op);
int snitch_is_in_core(u32 op);
/* snitch/core.c */
void snitch_run(sim *s);
/* snitch/csr.c */
u32 snitch_csr(sim *s, core *c, u32 number, u32 operation, u32 operand, int writes, u64 now, u64 instructions);
int snitch_csr_waits(u32 number);
void snitch_interrupt(sim *s, u32 id, u32 line, int is_up, u64 now);
int snitch_barrier(sim *s, core *c, u64 now);
/* snitch/memory.c */
typedef struct { u64 value; u32 latency, wait, failed; } snitch_result;
snitch_result snitch_access(sim *s, core *c, u32 pc, u64 now, u32 address, u32 size, u32 is_write, u64 value);
/* snitch/fpu/queue.c */
void fpu_run(sim *s, core *c, u64 limit);
int fpu_make_room(sim *s, core *c, u64 limit, u32 wanted);
int fpu_conflicts(const snitch *n, u32 address);
void fpu_fault(sim *s, core *c, u32 misuse, u32 pc, u64 now);
int fpu_reads_idle_stream(snitch *n, const insn *ip);
/* snitch/fpu/execute.c */
u64 fpu_execute(core *c, const fpu_entry *e, u64 a, u64 b, u64 d, int unchecked);
u32 fpu_to_integer(core *c, const insn *ip);
void fpu_from_integer(core *c, const insn *ip, u32 a);
/* snitch/ssr.c */
u32 stream_read_register(const snitch *n, u32 number, u32 mover);
void stream_write_register(sim *s, core *c, u32 number, u32 mover, u32 value, u64 now);
void streams_switch(core *c, u32 on, u64 now);
void mover_rare_step(sim *s, core *c, u32 i, u64 now);
/* snitch/xdma.c */
void xdma_source(sim *s, u32 address);
void xdma_destination(sim *s, u32 address);
void xdma_strides(sim *s, u32 source, u32 destination);
void xdma_rows(sim *s, u32 rows);
int xdma_is_full(const sim *s);
u32 xdma_start(sim *s, const core *c, u32 pc, u32 bytes, u32 configuration, u64 now);
u32 xdma_status(sim *s, u32 selector, u64 now);
u64 xdma_read_end(const sim *s, u64 now);

/* Lanes of the packed instructions: bits by the format in funct3. */
static inline u8 lane_bits(u32 funct3) {
    static const u8 BITS[] = {32, 32, 16, 8};
    return BITS[funct3 & 3];
}

/* Waits in a bank of the memory around the cores; accesses of 8 bytes. */
static inline u64 tcdm_wait(core *c, const snitch *n, u32 offset, u64 now) {
    u64 *free = &c->local_free[offset >> n->bank_shift & c->bank_mask], wait = excess(*free, now);
    *free = now + wait + 1;
    return wait;
}
/* The port that loads, stores and stream 0 of a core share takes one access each cycle. */
static inline u64 snitch_port_wait(snitch *n, u64 now) {
    u64 wait = excess(n->port_free, now);
    n->port_free = now + wait + 1;
    return wait;
}
/* ... also one to the TCDM that goes through the bus because the sanitizer looks at it. */
static inline u64 snitch_looked_at_wait(const sim *s, snitch *n, u32 address, u64 now) {
    return address - s->memory[n->tcdm].base < s->memory[n->tcdm].size ? snitch_port_wait(n, now) : 0;
}

/* An access of the floating-point unit or a data mover to the TCDM. */
static inline void count_access(core *c, const snitch *n, u32 size) {
    c->memory_bytes[n->tcdm] += size;
    c->memory_words[n->tcdm]++;
}
static inline int is_tcdm(const core *c, u32 address, u32 size) {
    return LIKELY(address - c->local_base <= c->local_size - size) && LIKELY(c->local_size);
}
#endif
