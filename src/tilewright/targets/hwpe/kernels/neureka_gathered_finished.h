/* Windows are gathered before N-EUREKA, and results finished after it. */
#ifndef TW_NEUREKA_GATHERED_FINISHED_H
#define TW_NEUREKA_GATHERED_FINISHED_H

#include "neureka_gathered.h"

typedef struct {
  tw_neureka_finished_params finished;
  tw_neureka_gather gather;
} tw_neureka_gathered_finished_params;

#endif
