/* How a job is submitted to a declared accelerator: begin, write its registers, commit, write the one that starts it. */
#ifndef TW_UNIT_JOBS_H
#define TW_UNIT_JOBS_H

#include <stdint.h>

/* Waits while the unit has a job. */
void tw_unit_begin(uint32_t unit);

/* The registers are written; the job is started next. */
void tw_unit_commit(uint32_t unit);

#endif
