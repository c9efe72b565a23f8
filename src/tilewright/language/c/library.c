/* What a process that has loaded the library cannot read from its headers. */
#include "calls.h"

extern TW_LM_API const int64_t tw_library_sizes[];
const int64_t tw_library_sizes[] = {
    sizeof(TW_LM_FUNCTION(model)), sizeof(TW_LM_FUNCTION(context)), TW_LM_MEMORY_BYTES, TW_LM_ALIGNMENT,
    TW_LM_CONTEXT, TW_LM_VOCABULARY};
