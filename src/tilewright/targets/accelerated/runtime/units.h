/* Accelerators that a user has declared: each has one set of registers and one job at a time. */
#ifndef TW_UNITS_H
#define TW_UNITS_H

#include <stdint.h>

#include "unit_table.h"

#if TW_UNITS

/* A mark names the unit in its high bits and counts its jobs in the others. */
#define TW_UNIT_SHIFT 24

void tw_units_init(void);

/* The last job committed to a unit, or TW_ACCELERATOR_NONE if the last job went to another accelerator. */
uint32_t tw_unit_mark(void);
void tw_unit_forget_last(void);

void tw_unit_wait(uint32_t mark);

/* Whether a mark is of a unit. */
static inline int tw_is_unit(uint32_t mark) { return mark >> TW_UNIT_SHIFT != 0; }

#else

static inline void tw_units_init(void) {}
static inline uint32_t tw_unit_mark(void) { return 0; }
static inline void tw_unit_forget_last(void) {}
static inline void tw_unit_wait(uint32_t mark) { (void)mark; }
static inline int tw_is_unit(uint32_t mark) { return (void)mark, 0; }

#endif
#endif
