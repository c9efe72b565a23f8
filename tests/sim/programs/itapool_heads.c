/* Heads on ITAPool's instances: core i starts the one of its number and polls until it is done, the others sleep. */
#include "mempool.h"
#define R(offset) (*(volatile unsigned *)(0x40000040 + (offset)))
enum { INSTANCE = 0x30, START = 1, DONE = 4 };
unsigned heads, S, E, P, from[4], to[4], record[4];
static L1 volatile unsigned arrived;

int core_main(unsigned core, unsigned cores) {
    if (core < heads) {
        unsigned at = INSTANCE * core;
        R(at + 4) = from[core], R(at + 8) = to[core], R(at + 0xc) = record[core];
        R(at + 0x10) = S, R(at + 0x14) = E, R(at + 0x18) = P;
        R(at) = START;
#ifdef FAULT
        FAULT;
#endif
        while (!(R(at) & DONE)) {}
    }
    barrier(&arrived, cores);
    return (int)cores;
}
