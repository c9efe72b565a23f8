/* gpu_extreme.h with several groups for a result, for long rows. */
#define TW_PARTS 64
#include "gpu_extreme.h"
