/* Windows are gathered before N-EUREKA, which requantises twice. */
#ifndef TW_NEUREKA_GATHERED_BRACKETED_H
#define TW_NEUREKA_GATHERED_BRACKETED_H

#include "neureka_bracketed.h"
#include "neureka_gathered.h"

typedef struct {
  tw_neureka_bracketed_params bracketed;
  tw_neureka_gather gather;
} tw_neureka_gathered_bracketed_params;

#endif
