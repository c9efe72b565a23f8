/* What contexts have in the memory of a GPU. */
#include "calls.h"

void TW_LM_FUNCTION(end)(TW_LM_FUNCTION(context) *c) { tw_gpu_forget(&TW_LM_GPU_MEMORY, c->arena, c->weights); }

const char *TW_LM_FUNCTION(gpu_error)(void) { return tw_gpu_failure(); }
