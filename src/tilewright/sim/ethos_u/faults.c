/* Why a stream stops; memory of one operation. */
#include "ethos_u/ethos_u.h"

#include <stdlib.h>

_Noreturn void npu_fail(npu *n, npu_reason reason, int64_t value) {
    n->fault->reason = reason;
    n->fault->value = value;
    longjmp(n->on_fault, 1);
}

_Noreturn void npu_fail_at(npu *n, npu_reason reason, uint32_t region, uint64_t address, uint64_t size, int is_write) {
    n->fault->region = region;
    n->fault->address = address;
    n->fault->size = size;
    n->fault->is_write = is_write;
    npu_fail(n, reason, 0);
}

/* Zeros, which last until the operation ends. */
void *npu_allocate(npu *n, uint64_t count, uint64_t size) {
    void *made = n->allocations < NPU_ALLOCATIONS ? calloc(count ? count : 1, size) : NULL;
    if (made == NULL) npu_fail(n, NPU_NO_MEMORY, (int64_t)(count * size));
    n->allocated[n->allocations++] = made;
    return made;
}

void npu_release(npu *n) {
    while (n->allocations > 0) free(n->allocated[--n->allocations]);
}
