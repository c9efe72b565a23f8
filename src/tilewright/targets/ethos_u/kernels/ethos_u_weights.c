/* Bytes as an Ethos-U reads weights: units of results and inputs in its order, each weight a number of 9 bits. */
#include "ethos_u_weights.h"

#include "always.h"

#ifndef TW_NAME
#define TW_NAME tw_ethos_u_weights
#define TW_X int8_t
#define TW_Y int8_t
#endif

#if defined(__GNUC__)
#define TW_NOINLINE __attribute__((noinline)) /* where bytes are written, the rest of this file needs no registers */
#else
#define TW_NOINLINE
#endif

enum { TW_INPUTS = 32, TW_INPUT_UNIT = 8, TW_SLICE = 1 << 15, TW_LINE = 16 };
enum { TW_BATCH, TW_HEAD, TW_ROW, TW_COLUMN };

/* Where bytes go next, 4 bits on their way there or none, and weights that the slice and the matrix have room for. */
typedef struct {
  uint8_t *next;
  uint32_t bits;
  int32_t has_bits, room, left;
} tw_code;

TW_ALWAYS void tw_store(tw_code *c, uint32_t word) {
  __builtin_memcpy(c->next, &word, sizeof word); /* a call of the library takes longer than the store */
  c->next += sizeof word;
}

/* 36 bits, the first one the lowest. */
static void tw_put_header(tw_code *c, uint32_t low, uint32_t high) {
  tw_store(c, c->has_bits ? low << 4 | c->bits : low);
  if (c->has_bits) *c->next++ = (uint8_t)(low >> 28 | high << 4);
  c->bits = high;
  c->has_bits = !c->has_bits;
}

/* Twice 36 bits: as many bits as before are left. */
TW_ALWAYS void tw_put(tw_code *c, uint32_t low, uint32_t high, uint32_t next_low, uint32_t next_high) {
  if (c->has_bits) {
    tw_store(c, low << 4 | c->bits);
    tw_store(c, low >> 28 | high << 4 | next_low << 8);
    *c->next++ = (uint8_t)(next_low >> 24);
    c->bits = next_high;
  } else {
    tw_store(c, low);
    tw_store(c, high | next_low << 4);
    *c->next++ = (uint8_t)(next_low >> 28 | next_high << 4);
  }
}

/* No zeros are left out; numbers are plain, of a palette with nothing in it. */
static void tw_begin_slice(tw_code *c) {
  c->room = c->left < TW_SLICE ? c->left : TW_SLICE;
  c->left -= c->room;
  tw_put_header(c, 6u | (uint32_t)(c->room - 1) << 3 | 7u << 18 | 1u << 22, 7u << 1);
}

/* Ones are marks of the end: an NPU that reads on finds nothing else. */
static void tw_end_code(tw_code *c, const uint8_t *start) {
  *c->next++ = (uint8_t)(c->has_bits ? c->bits | 0xf0u : 0xffu);
  while ((c->next - start) % TW_LINE) *c->next++ = 0xff;
}

/* Its sign is the lowest bit. */
TW_ALWAYS uint32_t tw_code_of(int32_t value) {
  const uint32_t sign = value < 0;
  return (((uint32_t)value ^ (0u - sign)) + sign) << 1 | sign;
}

/* Four of them: 32 bits, and the rest. */
TW_ALWAYS uint32_t tw_four(const TW_X *x, int32_t step, int32_t zero, uint32_t *rest) {
  const uint32_t first = tw_code_of(x[0] - zero), second = tw_code_of(x[step] - zero);
  const uint32_t third = tw_code_of(x[2 * step] - zero), last = tw_code_of(x[3 * step] - zero);
  *rest = last >> 5;
  return first | second << 9 | third << 18 | last << 27;
}

TW_ALWAYS void tw_put_eight(tw_code *c, const TW_X *x, int32_t step, int32_t zero) {
  uint32_t rest, next_rest;
  const uint32_t low = tw_four(x, step, zero, &rest), next = tw_four(x + 4 * step, step, zero, &next_rest);
  tw_put(c, low, rest, next, next_rest);
}

/* As many results as the NPU computes at once, each with 8 inputs, all there. */
static TW_NOINLINE void tw_put_unit(tw_code *code, const TW_X *x, int32_t step, int32_t apart, int32_t results,
                                    int32_t zero) {
  tw_code c = *code;
  for (int32_t result = 0; result < results; result++, x += apart) tw_put_eight(&c, x, step, zero);
  *code = c;
}

/* The same where some inputs or results are missing: those are nothing. */
static TW_NOINLINE void tw_put_rest(tw_code *c, const tw_ethos_u_weights_params *p, const TW_X *x, int32_t inputs,
                                    int32_t results) {
  const int32_t apart = p->cores * p->strides[TW_COLUMN];
  for (int32_t result = 0; result < p->unit; result++) {
    TW_X row[TW_INPUT_UNIT];
    for (int32_t i = 0; i < TW_INPUT_UNIT; i++) {
      const int is_there = i < inputs && result < results;
      row[i] = is_there ? x[i * p->strides[TW_ROW] + result * apart] : (TW_X)p->zero;
    }
    tw_put_eight(c, row, 1, p->zero);
  }
}

/* From an input and a result on, as far as the matrix and the block go. */
static void tw_put_some(tw_code *c, const tw_ethos_u_weights_params *p, const TW_X *x, int32_t inputs,
                        int32_t results) {
  const int32_t row = p->strides[TW_ROW], apart = p->cores * p->strides[TW_COLUMN];
  if (c->room == 0) tw_begin_slice(c);
  c->room -= TW_INPUT_UNIT * p->unit;
  if (inputs < TW_INPUT_UNIT || results < p->unit)
    tw_put_rest(c, p, x, inputs, results);
  else if (row == 1)
    tw_put_unit(c, x, 1, apart, p->unit, p->zero);
  else
    tw_put_unit(c, x, row, apart, p->unit, p->zero);
}

/* Results from the first to the last of a block, of one core: they are `cores` apart. */
static void tw_put_block(tw_code *c, const tw_ethos_u_weights_params *p, const TW_X *x, int32_t first, int32_t last) {
  const int32_t unit = p->unit * p->cores;
  for (int32_t step = 0; step < p->inputs; step += TW_INPUTS)
    for (int32_t at = first; at < last; at += unit)
      for (int32_t input = step; input < step + TW_INPUTS; input += TW_INPUT_UNIT) {
        const int32_t results = (last - at + p->cores - 1) / p->cores, place = input < p->inputs ? input : 0;
        tw_put_some(c, p, x + place * p->strides[TW_ROW] + at * p->strides[TW_COLUMN], p->inputs - input, results);
      }
}

static int32_t tw_share(int32_t results, int32_t core, int32_t cores) { return (results + cores - 1 - core) / cores; }

static int32_t tw_whole(int32_t value, int32_t unit) { return (value + unit - 1) / unit * unit; }

static int32_t tw_count(const tw_ethos_u_weights_params *p, int32_t core) {
  const int32_t own = tw_share(p->results, core, p->cores), block = tw_share(p->block, core, p->cores);
  const int32_t padded = own / block * tw_whole(block, p->unit) + tw_whole(own % block, p->unit);
  return padded * tw_whole(p->inputs, TW_INPUTS);
}

static uint8_t *tw_put_matrix(const tw_ethos_u_weights_params *p, const TW_X *x, int32_t core, uint8_t *y) {
  tw_code c = {.next = y, .left = tw_count(p, core)};
  const int32_t block = tw_share(p->block, core, p->cores) * p->cores;
  for (int32_t first = core; first < p->results; first += block) {
    const int32_t last = first + block;
    tw_put_block(&c, p, x, first, last < p->results ? last : p->results);
  }
  tw_end_code(&c, y);
  return c.next;
}

void TW_NAME(const tw_ethos_u_weights_params *params, const TW_X *x, TW_Y *y) {
  uint8_t *next = (uint8_t *)y;
  for (int32_t batch = 0; batch < params->sizes[TW_BATCH]; batch++)
    for (int32_t head = 0; head < params->sizes[TW_HEAD]; head++)
      for (int32_t core = 0; core < params->cores; core++) {
        const TW_X *matrix = x + batch * params->strides[TW_BATCH] + head * params->strides[TW_HEAD];
        next = tw_put_matrix(params, matrix, core, next);
      }
}
