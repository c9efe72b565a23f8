/* Ethos-U55 and U65: what executes their command streams. Values are exact; the order is that of the stream. */
#ifndef ETHOS_U_H
#define ETHOS_U_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_REGIONS 8
#define NPU_CORES 2

/* What a base pointer leads to. `written` has a byte for each: whether it was written; where it is NULL, all were. */
typedef struct {
    uint8_t *bytes, *written;
    uint64_t size;
    uint32_t is_constant, pad;
} npu_region;

/* One configuration of the NPU. */
typedef struct {
    uint32_t cores, ofm_unit_depth, ifm_unit_depth; /* depth of the blocks that weights are ordered by */
    uint32_t table_address, buffer_bytes;           /* of the shared buffer: where tables of functions are, its end */
    uint32_t moves_blocks;                          /* whether its DMA has two and three dimensions */
    uint64_t most_work;                             /* products and elements of one operation */
} npu_chip;

typedef enum {
    NPU_DONE, NPU_UNKNOWN, NPU_CUT, NPU_ENDLESS, NPU_RESERVED, NPU_UNSET, NPU_NO_REGION, NPU_OUTSIDE, NPU_UNWRITTEN,
    NPU_CONSTANT, NPU_WEIGHTS, NPU_SCALES, NPU_ALIGNMENT, NPU_SHAPE, NPU_TOO_LARGE, NPU_RACE, NPU_NO_MEMORY
} npu_reason;

/* Why a stream was stopped, and where: its command, counted from 0, and the word that it begins with. */
typedef struct {
    uint32_t reason, command, word, code;
    uint32_t region, is_write, other, pad;
    uint64_t address, size;
    int64_t value;
} npu_fault;

typedef struct {
    uint64_t commands, operations, macs, elements, dma_bytes, weight_bytes, read_bytes, written_bytes;
    uint32_t interrupts, pad;
} npu_counts;

/* A feature map: up to four tiles, elements of a pixel side by side, or 16 channels of all pixels of a row. */
typedef struct {
    uint64_t base[4], stride_x, stride_y, stride_c;
    uint32_t region, height0, height1, width0, height, width, depth, bytes;
    int32_t is_signed, is_bricked, zero;
} npu_map;

typedef struct {
    uint32_t height, width, stride_y, stride_x, dilation_y, dilation_x, parts_first;
} npu_kernel;

/* How a sum becomes an element of the result. */
typedef struct {
    uint32_t rounding, is_global, scale, shift, function, clip;
    int32_t least, most;
} npu_finish;

typedef struct {
    uint64_t weights, weight_bytes, scales, scale_bytes;
} npu_stream;

/* One operation with all that it takes from registers. */
typedef struct {
    uint32_t code, mode;
    npu_map x, x2, y;
    npu_kernel kernel;
    npu_finish finish;
    uint32_t pad_top, pad_left, pad_bottom, pad_right, upscale, block_depth, cores;
    uint32_t weight_region, scale_region, scale_mode, broadcast;
    uint32_t a_scale, a_shift, b_scale;
    int32_t scalar;
    npu_stream streams[NPU_CORES];
} npu_op;

/* Bytes that an operation under way reads or writes. */
typedef struct {
    uint32_t region, is_write;
    uint64_t begin, end;
} npu_span;

#define NPU_SPANS 24
#define NPU_UNDER_WAY 2 /* operations; transfers: so many on U65, one on U55 */

typedef struct {
    uint32_t count;
    npu_span spans[NPU_SPANS];
} npu_accesses;

typedef struct {
    uint32_t count;
    npu_accesses of[NPU_UNDER_WAY];
} npu_queue;

#define NPU_ALLOCATIONS 16

typedef struct {
    const npu_chip *chip;
    npu_region *regions;
    npu_region buffer; /* the shared buffer, as far as tables are in it */
    npu_fault *fault;
    npu_counts *counts;
    uint16_t parameters[1024];
    uint64_t payloads[1024];
    uint8_t has_parameter[1024], has_payload[1024];
    npu_queue kernels, transfers;
    void *allocated[NPU_ALLOCATIONS];
    uint32_t allocations;
    jmp_buf on_fault;
} npu;

#define NPU_BUFFER_REGION 0x100 /* in faults: the shared buffer */

/* faults.c */
_Noreturn void npu_fail(npu *n, npu_reason reason, int64_t value);
_Noreturn void npu_fail_at(npu *n, npu_reason reason, uint32_t region, uint64_t address, uint64_t size, int is_write);
void *npu_allocate(npu *n, uint64_t count, uint64_t size);
void npu_release(npu *n);

/* registers.c */
enum { NPU_IS_IFM, NPU_IS_IFM2, NPU_IS_OFM };
uint32_t npu_parameter(npu *n, uint32_t code);
uint64_t npu_payload(npu *n, uint32_t code);
void npu_read_op(npu *n, npu_op *op, uint32_t code, uint32_t mode);

/* memory.c */
const uint8_t *npu_bytes_to_read(npu *n, uint32_t region, uint64_t address, uint64_t size);
uint8_t *npu_bytes_to_write(npu *n, uint32_t region, uint64_t address, uint64_t size);
void npu_transfer(npu *n, uint32_t mode);

/* maps.c */
void npu_limit(npu *n, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
int32_t *npu_gather(npu *n, const npu_map *map, const uint8_t *rows, const uint8_t *columns);
void npu_scatter(npu *n, const npu_op *op, const int32_t *values);
void npu_map_spans(const npu_map *map, int is_write, npu_accesses *found);

/* races.c */
void npu_note_kernel(npu *n, const npu_op *op);
void npu_note_transfer(npu *n, const npu_span *from, const npu_span *to);
void npu_wait(npu_queue *queue, uint32_t left);

/* windows.c: which elements of the input a window covers */
typedef struct {
    uint32_t height, width;   /* of the input, as kernels see it: after the upscaling */
    const int32_t *values;    /* without the zero point */
    uint32_t map_width, depth, upscale;
} npu_input;
npu_input npu_read_input(npu *n, npu_op *op);
/* NULL where there is padding or an inserted zero; `is_padding` says which. */
const int32_t *npu_pixel(const npu_input *input, int64_t y, int64_t x, int *is_padding);

/* weight_stream.c, weights.c, scales.c */
typedef struct npu_decoder npu_decoder;
npu_decoder *npu_open_weights(npu *n, const uint8_t *bytes, uint64_t size);
int32_t npu_next_weight(npu_decoder *decoder);
int16_t *npu_read_weights(npu *n, const npu_op *op);
typedef struct {
    int64_t bias;
    uint32_t scale, shift;
} npu_channel;
npu_channel *npu_read_scales(npu *n, const npu_op *op);

/* scaling.c: v * scale / 2^shift, in one of three roundings */
enum { NPU_TFL, NPU_TRUNCATE, NPU_NATURAL };
int64_t npu_scaled(int64_t value, uint32_t scale, uint32_t shift, uint32_t rounding);
int64_t npu_scaled_once(int64_t value, uint32_t scale, uint32_t shift, uint32_t rounding);
int64_t npu_shifted(int64_t value, uint32_t shift, uint32_t rounding);
int64_t npu_divided(int64_t value, int64_t by, uint32_t rounding);
int64_t npu_within(int64_t value, int64_t low, int64_t high);

/* functions.c: clamps, tables, tanh and sigmoid; from a scaled sum to an element */
typedef struct {
    const uint8_t *table;
    int64_t low, high;
} npu_function;
npu_function npu_open_function(npu *n, const npu_op *op);
int32_t npu_finished(const npu_op *op, const npu_function *function, int64_t value);
extern const uint16_t npu_sigmoid_table[256];

/* products.c, pooling.c, elementwise.c */
void npu_convolve(npu *n, npu_op *op);
void npu_convolve_depthwise(npu *n, npu_op *op);
void npu_pool(npu *n, npu_op *op);
void npu_combine(npu *n, npu_op *op);

#endif
