/* A job through Arm's ethos-u-core-driver, instead of the driver beside this file: for systems that have it already, for
 * other users of the NPU, its interrupt and its caches.
 *
 * With -DTW_ETHOS_U_CORE_DRIVER kernels include this file. The system has ethosu_driver.h in its include path, has
 * called ethosu_init() and routes the interrupt to ethosu_irq_handler(), as the core driver's README says. A payload is
 * a stream behind words for the driver, as Vela writes it. */
#ifndef TW_ETHOS_U_CORE_DRIVER_H
#define TW_ETHOS_U_CORE_DRIVER_H

#include <ethosu_driver.h>
#include <stdbool.h>

#include "tw.h"

enum { TW_ETHOS_U_MOST_REGIONS = 8 };

static struct ethosu_driver *tw_ethos_u_npu;

/* Of the job that begins next; the driver looks at them again when it ends. */
static uint64_t tw_ethos_u_addresses[TW_ETHOS_U_MOST_REGIONS];
static size_t tw_ethos_u_lengths[TW_ETHOS_U_MOST_REGIONS];

static inline void tw_ethos_u_regions(uint32_t first, const void *const *regions, const uint32_t *sizes,
                                      uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    tw_ethos_u_addresses[first + i] = (uint64_t)(uintptr_t)regions[i];
    tw_ethos_u_lengths[first + i] = sizes[i];
  }
}

/* The job of a payload begins. */
static inline void tw_ethos_u_begin(const void *payload, uint32_t bytes, uint32_t count) {
  tw_ethos_u_npu = ethosu_reserve_driver();
  if (ethosu_invoke_async(tw_ethos_u_npu, payload, (int)bytes, tw_ethos_u_addresses, tw_ethos_u_lengths, (int)count,
                          0) != 0)
    __builtin_trap();
}

/* Nobody reads results that a failed job has left: a program that cannot go on stops here. */
static inline void tw_ethos_u_end(void) {
  if (ethosu_wait(tw_ethos_u_npu, true) != 0) __builtin_trap();
  ethosu_release_driver(tw_ethos_u_npu);
}

#endif
