/* A context in memory of the caller's, for a model whose weights are part of the program. */
#include "calls.h"

int32_t TW_LM_FUNCTION(begin)(TW_LM_FUNCTION(context) *c, void *memory, size_t bytes) {
  if (bytes < TW_LM_MEMORY_BYTES || (uintptr_t)memory % TW_LM_ALIGNMENT != 0) return TW_MODEL_MEMORY;
  c->arena = memory;
  TW_LM_FUNCTION(reset)(c);
  return 0;
}
