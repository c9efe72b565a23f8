/* Zve32x: vectors of integers of 8, 16 and 32 bits (RISC-V "V" specification, 1.0), beside a core. Registers have 128 bits.
 *
 * What it takes is chosen, after small published units: one instruction at a time; 64 bits of results a cycle, 32 bits of memory, one
 * element a cycle where elements are not neighbours (strides, indices, segments, gathers), 32 cycles for the division of one. Elements
 * behind the last one, and those that a mask leaves out, are kept. */
#ifndef TW_VECTORS_UNIT_H
#define TW_VECTORS_UNIT_H
#include "engine/sim.h"

enum { VECTOR_REGISTER = 16, VECTOR_REGISTERS = 32, VECTOR_ELEMENT = 4 /* the widest */ };
enum { VECTOR_RESULT_BYTES = 8, VECTOR_MEMORY_BYTES = 4, VECTOR_DIVISION = 32 /* a cycle, a cycle, cycles */ };
enum { VECTOR_ILLEGAL_TYPE = 1u << 31 };
enum { CSR_VSTART = 0x008, CSR_VXSAT = 0x009, CSR_VXRM = 0x00a, CSR_VCSR = 0x00f, CSR_VL = 0xc20, CSR_VTYPE = 0xc21, CSR_VLENB = 0xc22 };

typedef struct {
    u8 v[VECTOR_REGISTERS * VECTOR_REGISTER];
    u32 vl, vtype, vstart, vxrm, vxsat;
    u32 memory;     /* the local one */
    u64 local_bytes; /* moved from and to it */
} vector_unit;

/* Cycles, and what is written to an integer register. No cycles: the instruction is illegal. */
typedef struct { u32 cycles, value; } vector_result;
typedef struct { u32 cycles, failed; } vector_moved;

/* vectors/configure.c; `word` is the instruction everywhere. */
u32 vector_configure(vector_unit *u, u32 word, u32 length, u32 type);
int vector_csr(u32 number);
u32 vector_csr_read(const vector_unit *u, u32 number);
void vector_csr_write(vector_unit *u, u32 number, u32 value);
/* vectors/compute.c; scalar: the integer register rs1. */
vector_result vector_compute(vector_unit *u, u32 word, u32 scalar);
/* vectors/memory.c */
vector_moved vector_move(sim *s, core *c, const insn *ip, u64 now, u32 address, u32 stride, u32 is_store);
#endif
