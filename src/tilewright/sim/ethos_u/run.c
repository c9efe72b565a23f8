/* A command stream from its first word to STOP. */
#include "ethos_u/ethos_u.h"

#include <stdlib.h>
#include <string.h>

#include "ethos_u/codes.h"

typedef struct {
    const char *name;
    uint16_t zeros;
    uint8_t is_known;
} command;

#define OPERATION(name, code, zeros) [code] = {#name, zeros, 1},
#define PARAMETER(name, code, zeros) [code] = {#name, zeros, 1},
#define PAYLOAD(name, code)
static const command SHORT[1024] = {
#include "ethos_u/commands.def"
};
#undef OPERATION
#undef PARAMETER
#undef PAYLOAD
#define OPERATION(name, code, zeros)
#define PARAMETER(name, code, zeros)
#define PAYLOAD(name, code) [code] = {#name, 0, 1},
static const command LONG[1024] = {
#include "ethos_u/commands.def"
};

enum { CODE = 0x3ff, IS_LONG = 0x4000, MUST_BE_ZERO = 0xbc00 };

static void wait_for(npu_queue *queue, uint32_t parameter) { npu_wait(queue, parameter & 3); }

static void run_op(npu *n, uint32_t code, uint32_t mode) {
    npu_op op;
    if (mode > (code == NPU_OP_POOL ? 2u : code == NPU_OP_ELEMENTWISE ? 9u : 0u)) npu_fail(n, NPU_RESERVED, mode);
    npu_read_op(n, &op, code, mode);
    n->counts->operations++;
    if (code == NPU_OP_CONV) npu_convolve(n, &op);
    else if (code == NPU_OP_DEPTHWISE) npu_convolve_depthwise(n, &op);
    else if (code == NPU_OP_POOL) npu_pool(n, &op);
    else npu_combine(n, &op);
    npu_release(n);
}

/* Whether the stream goes on. */
static int run_operation(npu *n, uint32_t code, uint32_t parameter) {
    switch (code) {
    case NPU_OP_STOP: return 0;
    case NPU_OP_IRQ: n->counts->interrupts++; break;
    case NPU_OP_DMA_START: npu_transfer(n, parameter); break;
    case NPU_OP_DMA_WAIT: wait_for(&n->transfers, parameter); break;
    case NPU_OP_KERNEL_WAIT: wait_for(&n->kernels, parameter); break;
    case NPU_OP_PMU_MASK: break;
    default: run_op(n, code, parameter);
    }
    return 1;
}

static void set_payload(npu *n, uint32_t code, uint32_t parameter, uint32_t payload) {
    n->payloads[code] = (uint64_t)parameter << 32 | payload;
    n->has_payload[code] = 1;
}

static int run_short(npu *n, uint32_t code, uint32_t parameter) {
    if (parameter & SHORT[code].zeros) npu_fail(n, NPU_RESERVED, parameter);
    if (code < 0x100) return run_operation(n, code, parameter);
    n->parameters[code] = (uint16_t)parameter;
    n->has_parameter[code] = 1;
    return 1;
}

static void run_all(npu *n, const uint32_t *words, uint32_t count) {
    for (uint32_t at = 0; at < count; n->fault->command++) {
        uint32_t word = words[at], code = word & CODE, is_long = word & IS_LONG;
        n->fault->word = at++, n->fault->code = word & 0xffff;
        n->counts->commands++;
        if (word & MUST_BE_ZERO || !(is_long ? LONG : SHORT)[code].is_known) npu_fail(n, NPU_UNKNOWN, word);
        if (is_long && at == count) npu_fail(n, NPU_CUT, 0);
        if (is_long) set_payload(n, code, word >> 16, words[at++]);
        else if (!run_short(n, code, word >> 16)) return;
    }
    npu_fail(n, NPU_ENDLESS, count);
}

static int make_buffer(npu *n) {
    n->buffer.size = n->chip->buffer_bytes;
    n->buffer.bytes = calloc(n->chip->buffer_bytes, 1);
    n->buffer.written = calloc(n->chip->buffer_bytes, 1);
    return n->buffer.bytes && n->buffer.written;
}

static npu *make(const npu_chip *chip, npu_region *regions, npu_fault *fault, npu_counts *counts) {
    npu *n = calloc(1, sizeof *n);
    if (n == NULL) return NULL;
    n->chip = chip, n->regions = regions, n->fault = fault, n->counts = counts;
    return n;
}

static void discard(npu *n) {
    npu_release(n);
    free(n->buffer.bytes);
    free(n->buffer.written);
    free(n);
}

/* Executes a stream; the reason why it stopped. */
__attribute__((visibility("default"))) uint32_t tw_ethos_u_run(
    const npu_chip *chip, npu_region *regions, const uint32_t *words, uint32_t count, npu_fault *fault,
    npu_counts *counts) {
    memset(fault, 0, sizeof *fault);
    memset(counts, 0, sizeof *counts);
    npu *n = make(chip, regions, fault, counts);
    if (n == NULL) return fault->reason = NPU_NO_MEMORY;
    if (setjmp(n->on_fault) == 0) {
        if (!make_buffer(n)) npu_fail(n, NPU_NO_MEMORY, chip->buffer_bytes);
        run_all(n, words, count);
    }
    discard(n);
    return fault->reason;
}

/* The name of a command by the lower half of its word; NULL: there is none. */
__attribute__((visibility("default"))) const char *tw_ethos_u_name(uint32_t code) {
    const command *one = &(code & IS_LONG ? LONG : SHORT)[code & CODE];
    return code & MUST_BE_ZERO ? NULL : one->name;
}

/* Decodes weights in the order of their stream; how many, or -1 where it is not one. */
__attribute__((visibility("default"))) int64_t tw_ethos_u_weights(const uint8_t *bytes, uint64_t size, int16_t *weights,
                                                                  uint64_t count) {
    npu_fault fault = {0};
    npu *n = make(NULL, NULL, &fault, NULL);
    int64_t done = -1;
    if (n == NULL) return done;
    if (setjmp(n->on_fault) == 0) {
        npu_decoder *decoder = npu_open_weights(n, bytes, size);
        for (uint64_t k = 0; k < count; k++) weights[k] = (int16_t)npu_next_weight(decoder);
        done = (int64_t)count;
    }
    npu_release(n);
    free(n);
    return done;
}
