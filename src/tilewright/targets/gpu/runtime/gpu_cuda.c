#include "prefix.h"

#include "gpu_runtime.h"

typedef int tw_gpu_nothing;
