/* Called around work that each core does on its own. Nothing to do here: each core copies its tiles itself and
 * synchronously. */
#ifndef TW_EACH_H
#define TW_EACH_H

#include "../kernels/cluster.h"

static inline void tw_each_alone(uint32_t is_alone) {
  tw_local_own()->alone[(uint32_t)tw_core() % TW_TILE_CORES] = is_alone;
}

#define tw_each_begin() tw_each_alone(1)
#define tw_each_end() tw_each_alone(0)

#endif
