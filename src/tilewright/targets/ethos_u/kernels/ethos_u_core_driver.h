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

/* The job of a payload begins. The driver looks at addresses again when it ends. */
static inline void tw_ethos_u_begin(const void *payload, uint32_t bytes, const void *const *regions,
                                    const uint32_t *sizes, uint32_t count) {
  static uint64_t addresses[TW_ETHOS_U_MOST_REGIONS];
  static size_t lengths[TW_ETHOS_U_MOST_REGIONS];
  for (uint32_t i = 0; i < count; i++) {
    addresses[i] = (uint64_t)(uintptr_t)regions[i];
    lengths[i] = sizes[i];
  }
  tw_ethos_u_npu = ethosu_reserve_driver();
  if (ethosu_invoke_async(tw_ethos_u_npu, payload, (int)bytes, addresses, lengths, (int)count, 0) != 0)
    __builtin_trap();
}

/* Nobody reads results that a failed job has left: a program that cannot go on stops here. */
static inline void tw_ethos_u_end(void) {
  if (ethosu_wait(tw_ethos_u_npu, true) != 0) __builtin_trap();
  ethosu_release_driver(tw_ethos_u_npu);
}

#endif
