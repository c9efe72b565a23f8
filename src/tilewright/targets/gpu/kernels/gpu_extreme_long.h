/* gpu_extreme.h with larger groups, for long rows. */
#define TW_GROUP_SIZE 1024
#include "gpu_extreme.h"
