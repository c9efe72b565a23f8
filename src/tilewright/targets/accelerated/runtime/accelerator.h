/* Waiting for accelerators: a target's own NPU, and units that a user has declared. Jobs of each run one after the other,
 * in the order in which they were committed; kernels commit them. One core does all of it.
 *
 *   tw_some_kernel(...);                      commits jobs and returns
 *   uint32_t mark = tw_accelerator_mark();
 *   ...                                       the core does something else meanwhile
 *   tw_accelerator_wait(mark);
 */
#ifndef TW_ACCELERATOR_H
#define TW_ACCELERATOR_H

#include <stdint.h>

/* No job. */
#define TW_ACCELERATOR_NONE 0u

/* Before the first job of a program. */
void tw_accelerator_init(void);

/* The next job may be described before its inputs are complete: it is committed at the next barrier of all cores. */
void tw_accelerator_barrier_first(void);

/* Kernels call this before they commit a job. */
void tw_accelerator_meet(void);

/* The last job that was committed. */
uint32_t tw_accelerator_mark(void);

/* Waits for this job and all earlier jobs of the same accelerator. Returns at once for TW_ACCELERATOR_NONE. */
void tw_accelerator_wait(uint32_t mark);

#endif
