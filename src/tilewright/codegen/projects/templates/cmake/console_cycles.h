/* Cycles as the runtime counts them. */
#ifndef APP_CYCLES_H
#define APP_CYCLES_H

#include "../network/runtime/console.h"

static inline void cycles_start(void) {}
static inline uint32_t cycles_now(void) { return tw_cycle(); }
static inline uint32_t cycles_between(uint32_t before, uint32_t after) { return after - before; }

#endif
