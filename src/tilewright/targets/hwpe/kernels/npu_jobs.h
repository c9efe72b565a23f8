/* How a job is submitted to N-EUREKA: begin, write the registers, commit. */
#ifndef TW_NPU_JOBS_H
#define TW_NPU_JOBS_H

#include <stdint.h>

#include "platform.h"

#define TW_NPU_REGISTERS ((volatile uint32_t *)(uintptr_t)(TW_NPU + 0x20))

/* Reserves a set of registers; sleeps while N-EUREKA has two jobs already. */
void tw_accelerator_begin(void);

/* The job is complete: it runs when those before it have ended. */
void tw_accelerator_commit(void);

#endif
