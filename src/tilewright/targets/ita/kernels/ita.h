/* ITA from a core that drives it: a layer is begun, its products are given in the order of its steps, and it is ended.
 *
 *   tw_ita_clear();                            once
 *   tw_ita_begin(&ita, &layer);
 *   tw_ita_product(&ita, &queries); ...
 *   tw_ita_end(&ita);                          all jobs are given; ITA works on
 *   tw_ita_wait(&ita, ita.jobs);
 *
 * A job is one tile of 64 x 64 of a result and one of its inner blocks. Its registers are written, but it is held back until
 * the next one is known, whose first weights it fetches. Matrices lie in tiles of 64 x 64 bytes in the memory that the cores share: all tiles of the
 * first 64 rows first, each row by row; weights transposed. Biases have 24 bits each, without gaps. */
#ifndef TW_ITA_H
#define TW_ITA_H

#include <stdint.h>

#include "ita_tile.h"

#ifndef TW_ITA
#define TW_ITA 0x10040000u      /* its registers */
#define TW_ITA_MEMORY 0x10000000u /* what its pointers count from */
#endif
#ifndef TW_ITA_COMMIT
#define TW_ITA_COMMIT() (TW_ITA_REGISTER(0x00) = 0) /* a job is complete: it runs when those before it have ended */
#define TW_ITA_ROOM() while ((int32_t)TW_ITA_REGISTER(0x04) < 0) continue /* until a context is free */
#endif
#define TW_ITA_REGISTER(offset) (*(volatile uint32_t *)(uintptr_t)(TW_ITA + (offset)))

enum { TW_ITA_BIAS = 3 * 64, TW_ITA_CONTEXTS = 4, TW_ITA_CLEAR_CYCLES = 10 };
enum { TW_ITA_ATTENTION, TW_ITA_FEED_FORWARD, TW_ITA_LINEAR, TW_ITA_SINGLE_ATTENTION };
enum { TW_ITA_IDENTITY, TW_ITA_GELU, TW_ITA_RELU };
enum { TW_ITA_PRELOAD = 1, TW_ITA_NEXT = 2, TW_ITA_NO_BIAS = 4, TW_ITA_BIAS_PER_ROW = 8, TW_ITA_NO_OUTPUT = 16 };

/* What all jobs of a layer have in common, as its registers have it. */
typedef struct {
  uint32_t tiles;              /* of 64: s | e << 4 | p << 8 | f << 12 */
  uint32_t multipliers[2];     /* one byte for each step, the first in the lowest: Q K V QK AV output F1 F2 */
  uint32_t shifts[2];
  uint32_t summands[2];
  uint32_t layer;              /* and activation << 2 */
  uint32_t polynomial;         /* of GELU: b | c << 16 */
  uint32_t activation;         /* multiplier | shift << 8 | summand << 16 */
} tw_ita_layer;

/* A matrix product; `rows`, `columns` and `inner` count tiles. Without a bias, `bias` is NULL. The weights of a column lie
 * `weights_step` tiles behind those of the one before; 0 where they are all there is. */
typedef struct {
  uint32_t rows, columns, inner;
  const int8_t *input, *weights;
  const uint8_t *bias;
  int8_t *output;
  uint32_t bias_per_row;
  uint32_t weights_step;
} tw_ita_matrices;

typedef struct {
  uint32_t input, weights, bias, output, flow;
} tw_ita_job;

typedef struct {
  const tw_ita_layer *layer;
  uint32_t jobs;               /* put so far, the held one included */
  uint32_t given, of_layer;    /* to ITA since the clear; put, of this layer */
  uint32_t holds;
  uint32_t flow;               /* of the held one */
} tw_ita;

static inline uint32_t tw_ita_offset(const void *pointer) { return (uint32_t)(uintptr_t)pointer - TW_ITA_MEMORY; }

/* Jobs that wait and run are forgotten. */
static inline void tw_ita_clear(void) {
  TW_ITA_REGISTER(0x14) = 0;
  for (uint32_t i = 0; i < TW_ITA_CLEAR_CYCLES; i++) __asm__ volatile("nop");
}

/* Its state where no job waits or runs. */
static inline tw_ita tw_ita_idle(void) {
  tw_ita ita;
  ita.layer = 0;
  ita.jobs = ita.given = ita.of_layer = ita.holds = ita.flow = 0;
  return ita;
}

/* How many jobs have ended. */
static inline uint32_t tw_ita_ended(const tw_ita *ita) { return ita->given - TW_ITA_REGISTER(0x0c); }

/* Returns when so many jobs have ended. */
static inline void tw_ita_wait(const tw_ita *ita, uint32_t jobs) {
  while ((int32_t)(tw_ita_ended(ita) - jobs) < 0) continue;
  __asm__ volatile("" ::: "memory");
}

static inline void tw_ita_begin(tw_ita *ita, const tw_ita_layer *layer) {
  ita->layer = layer;
  ita->of_layer = 0;
}

/* Contexts keep their registers, and take turns: after one job in each of them only pointers change. Loads come first: none
 * waits for the one before. */
static inline void tw_ita_write_layer(const tw_ita_layer *layer) {
  const uint32_t tiles = layer->tiles, kind = layer->layer, polynomial = layer->polynomial, activation = layer->activation;
  const uint32_t m0 = layer->multipliers[0], m1 = layer->multipliers[1], s0 = layer->shifts[0], s1 = layer->shifts[1];
  const uint32_t a0 = layer->summands[0], a1 = layer->summands[1];
  TW_ITA_REGISTER(0x38) = tiles;
  TW_ITA_REGISTER(0x3c) = m0;
  TW_ITA_REGISTER(0x40) = m1;
  TW_ITA_REGISTER(0x44) = s0;
  TW_ITA_REGISTER(0x48) = s1;
  TW_ITA_REGISTER(0x4c) = a0;
  TW_ITA_REGISTER(0x50) = a1;
  TW_ITA_REGISTER(0x54) = kind;
  TW_ITA_REGISTER(0x5c) = polynomial;
  TW_ITA_REGISTER(0x60) = activation;
}

/* The held job, whose registers are written but for what the next one decides. */
static inline void tw_ita_give(tw_ita *ita, uint32_t next_weights, uint32_t flow) {
  TW_ITA_REGISTER(0x28) = next_weights;
  TW_ITA_REGISTER(0x58) = ita->flow | flow;
  __asm__ volatile("" ::: "memory");
  TW_ITA_COMMIT();
  ita->given++;
}

static inline void tw_ita_put(tw_ita *ita, const tw_ita_job *job) {
  if (ita->holds) tw_ita_give(ita, job->weights, TW_ITA_NEXT);
  TW_ITA_ROOM();
  TW_ITA_REGISTER(0x20) = job->input;
  TW_ITA_REGISTER(0x24) = job->weights;
  TW_ITA_REGISTER(0x2c) = job->bias;
  TW_ITA_REGISTER(0x30) = job->output;
  if (ita->of_layer < TW_ITA_CONTEXTS) tw_ita_write_layer(ita->layer);
  ita->flow = job->flow | (ita->of_layer == 0 ? TW_ITA_PRELOAD : 0);
  ita->holds = 1;
  ita->of_layer++;
  ita->jobs++;
}

/* The last job of a layer fetches nothing ahead. */
static inline void tw_ita_end(tw_ita *ita) {
  if (ita->holds) tw_ita_give(ita, 0, 0);
  ita->holds = 0;
}

/* One tile of a result: its inner blocks lie one behind the other. `job` is the first of them. */
static inline void tw_ita_tile(tw_ita *ita, tw_ita_job job, uint32_t inner, uint32_t last_flow) {
  for (; inner > 1; inner--) {
    tw_ita_put(ita, &job);
    job.input += TW_ITA_TILE;
    job.weights += TW_ITA_TILE;
  }
  job.flow = last_flow;
  tw_ita_put(ita, &job);
}

/* The first job of a product, and what the last one of each tile does. */
static inline tw_ita_job tw_ita_first(const tw_ita_matrices *m) {
  const tw_ita_job job = {tw_ita_offset(m->input), tw_ita_offset(m->weights), m->bias ? tw_ita_offset(m->bias) : 0,
                          tw_ita_offset(m->output), TW_ITA_NO_OUTPUT | TW_ITA_NO_BIAS};
  return job;
}
static inline uint32_t tw_ita_last_flow(const tw_ita_matrices *m) {
  return m->bias == 0 ? TW_ITA_NO_BIAS : m->bias_per_row ? TW_ITA_BIAS_PER_ROW : 0;
}

/* 64 rows: their tiles of the result lie one behind the other. `job` is the first of them. */
static inline void tw_ita_row_block(tw_ita *ita, const tw_ita_matrices *m, tw_ita_job job, uint32_t last_flow) {
  const uint32_t step = (m->weights_step ? m->weights_step : m->inner) * TW_ITA_TILE, bias_step = last_flow ? 0 : TW_ITA_BIAS;
  for (uint32_t left = m->columns; left > 0; left--) {
    tw_ita_tile(ita, job, m->inner, last_flow);
    job.weights += step;
    job.bias += bias_step;
    job.output += TW_ITA_TILE;
  }
}

static inline void tw_ita_product(tw_ita *ita, const tw_ita_matrices *m) {
  const uint32_t last_flow = tw_ita_last_flow(m);
  tw_ita_job job = tw_ita_first(m);
  for (uint32_t left = m->rows; left > 0; left--) {
    tw_ita_row_block(ita, m, job, last_flow);
    job.input += m->inner * TW_ITA_TILE;
    job.output += m->columns * TW_ITA_TILE;
    if (last_flow == TW_ITA_BIAS_PER_ROW) job.bias += TW_ITA_BIAS;
  }
}

/* Scores and what they mix, 64 rows at a time: the softmax lies between them. A job of `mixed` reads the scores of its
 * rows, so ITA must have written them: its jobs run one after the other. */
static inline void tw_ita_attention(tw_ita *ita, const tw_ita_matrices *scores, const tw_ita_matrices *mixed) {
  tw_ita_job score = tw_ita_first(scores), mix = tw_ita_first(mixed);
  for (uint32_t left = scores->rows; left > 0; left--) {
    tw_ita_row_block(ita, scores, score, TW_ITA_NO_BIAS);
    tw_ita_row_block(ita, mixed, mix, TW_ITA_NO_BIAS);
    score.input += scores->inner * TW_ITA_TILE;
    score.output += scores->columns * TW_ITA_TILE;
    mix.input += mixed->inner * TW_ITA_TILE;
    mix.output += mixed->columns * TW_ITA_TILE;
  }
}

#endif
