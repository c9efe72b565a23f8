/* What loops and branches of a network need besides its kernels. SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_CONTROL_FLOW_H
#define TILEWRIGHT_CONTROL_FLOW_H

#include <stdint.h>
#include <string.h>

/* Functions of their own in any program: profiles look for them. */
#ifdef __GNUC__
#define TW_FLOW static __attribute__((noinline))
#else
#define TW_FLOW static
#endif

/* What a network returns that would have to run a loop more often than --max-trips, with which it was compiled. */
#define TW_TOO_MANY_TURNS 2

#endif
