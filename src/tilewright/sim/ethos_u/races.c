/* Transfers run beside operations: what one writes while another reads or writes it must be waited for. */
#include "ethos_u/ethos_u.h"

static int collide(const npu_span *a, const npu_span *b) {
    return a->region == b->region && (a->is_write || b->is_write) && a->begin < b->end && b->begin < a->end;
}

static void compare(npu *n, const npu_accesses *one, const npu_queue *others) {
    for (uint32_t k = 0; k < others->count; k++)
        for (uint32_t i = 0; i < one->count; i++)
            for (uint32_t j = 0; j < others->of[k].count; j++) {
                const npu_span *span = &others->of[k].spans[j];
                if (collide(&one->spans[i], span))
                    npu_fail_at(n, NPU_RACE, span->region, span->begin, span->end - span->begin, (int)span->is_write);
            }
}

/* A queue has few places: the oldest has ended when a new one begins. */
static void push(npu_queue *queue, uint32_t places, const npu_accesses *one) {
    npu_wait(queue, places - 1);
    queue->of[queue->count++] = *one;
}

void npu_wait(npu_queue *queue, uint32_t left) {
    while (queue->count > left) {
        for (uint32_t k = 1; k < queue->count; k++) queue->of[k - 1] = queue->of[k];
        queue->count--;
    }
}

static void note(npu_accesses *found, uint32_t region, uint64_t begin, uint64_t size) {
    if (size) found->spans[found->count++] = (npu_span){region, 0, begin, begin + size};
}

static void note_table(npu *n, const npu_op *op, npu_accesses *found) {
    if (op->finish.function < 16) return;
    uint64_t begin = n->chip->table_address + 256u * (op->finish.function - 16);
    uint64_t size = op->y.bytes == 1 ? 256 : op->y.bytes == 4 ? 1024 : 2048;
    note(found, NPU_BUFFER_REGION, begin, size);
}

void npu_note_kernel(npu *n, const npu_op *op) {
    npu_accesses found = {0};
    npu_map_spans(&op->x, 0, &found);
    if (op->x2.depth) npu_map_spans(&op->x2, 0, &found);
    npu_map_spans(&op->y, 1, &found);
    for (uint32_t core = 0; core < op->cores; core++) {
        note(&found, op->weight_region, op->streams[core].weights, op->streams[core].weight_bytes);
        note(&found, op->scale_region, op->streams[core].scales, op->streams[core].scale_bytes);
    }
    note_table(n, op, &found);
    compare(n, &found, &n->transfers);
    push(&n->kernels, NPU_UNDER_WAY, &found);
}

void npu_note_transfer(npu *n, const npu_span *from, const npu_span *to) {
    npu_accesses found = {2, {*from, *to}};
    compare(n, &found, &n->kernels);
    push(&n->transfers, n->chip->moves_blocks ? NPU_UNDER_WAY : 1, &found);
}
