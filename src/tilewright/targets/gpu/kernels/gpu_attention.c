/* y = softmax(scale * q k') v of floats, over the keys that each query sees: a group has 16 rows, which are queries of
 * the heads that share keys. Scores of 64 keys at a time are all that is ever stored; what was summed before is scaled
 * down where a later score is larger.
 *
 * Keys and values go through two buffers in shared memory, 64 channels of 64 tokens each: while one is worked on, the
 * next one is copied. Floats of 16 bits are multiplied by tensor cores where there are any. */
#define TW_GROUP_SIZE 256
#if !TW_Q_IS_HALF
#define TW_GROUPS_AT_ONCE 2
#endif
#include <math.h>

#include "fast_exp.h"
#include "gpu_async.h"
#include "gpu_attention_limits.h"
#include "gpu_unroll.h"
#include "half.h"

#ifndef TW_NAME
#define TW_NAME tw_gpu_attention
#define TW_Q float
#define TW_Y float
#endif
#ifndef TW_MOST_PARTS
#include "gpu_channels_128.h"
#endif
#ifndef TW_Q_LOAD
#define TW_Q_LOAD(element) (element)
#endif
#ifndef TW_Y_STORE
#define TW_Y_STORE(value) (value)
#endif
#ifdef TW_MASKED
#define TW_MASK_DECLARED const TW_MASK *mask,
#define TW_MASK_GIVEN mask,
#else
#define TW_MASK_DECLARED
#define TW_MASK_GIVEN
#endif
#define TW_AT_ONCE 4 /* fours of channels or of keys in a turn of a loop */

enum {
  TW_ROWS = 16,
  TW_KEYS = 64,
  TW_PART = 64,      /* channels of a buffer */
  TW_PITCH = TW_PART + 4,
  TW_Q_PITCH = TW_PART * TW_MOST_PARTS + 4,
  TW_BUFFER = TW_KEYS * TW_PITCH,
  TW_ALONG = TW_GROUP_SIZE / TW_ROWS, /* items of a row: each has four neighbours of its results */
  TW_OWN_ROWS = TW_ROWS * TW_KEYS / TW_GROUP_SIZE /* rows whose scores with one key an item computes */
};

typedef struct {
  float at[4];
} __attribute__((aligned(16), may_alias)) tw_four;

TW_GROUP_SHARED(tw_four, tw_buffers, [2 * TW_BUFFER / 4]);
TW_GROUP_SHARED(tw_four, tw_queries, [TW_ROWS * TW_Q_PITCH / 4]);
TW_GROUP_SHARED(tw_four, tw_scores, [TW_ROWS * TW_PITCH / 4]);

/* What a group works on. */
typedef struct {
  const tw_gpu_attention_params *p;
  const TW_Q *q, *k, *v; /* of its keys' heads, from the first token on */
  TW_Y *y;
  const int32_t *position;
  int32_t first_row, seen;   /* by the last of its rows */
  int32_t first;             /* key that one of its rows sees */
  int32_t k_parts, v_parts;  /* of so many channels */
#ifdef TW_MASKED
  const TW_MASK *mask;
#endif
} tw_work;

/* What an item keeps of its row: the largest score, the sum of weights, weighted values. */
typedef struct {
  float largest, next_largest, sum;
  tw_four mixed[TW_MOST_PARTS];
} tw_mix;

TW_GPU int32_t tw_query_of(const tw_work *w, int32_t row) { return (w->first_row + row) / w->p->rows.repeat; }

TW_GPU int32_t tw_rows_there(const tw_work *w) { return w->p->rows.queries * w->p->rows.repeat; }

/* Where a row's queries or results begin, so many channels each and so far from token to token. */
TW_GPU int64_t tw_row_at(const tw_work *w, int32_t row, int32_t channels, int32_t token) {
  return (int64_t)tw_query_of(w, row) * token + (w->first_row + row) % w->p->rows.repeat * channels;
}

/* A score with what the mask of a key adds to it, or has in its place. */
TW_GPU float tw_masked(const tw_work *w, float score, int32_t row, int32_t token) {
#ifdef TW_MASKED
  const tw_gpu_attention_params *const p = w->p;
  const int32_t head = TW_GROUP_Y * p->rows.repeat + (w->first_row + row) % p->rows.repeat;
  if (w->first_row + row >= tw_rows_there(w)) return score;
  const int64_t of_head = (int64_t)TW_GROUP_Z * p->mask_batch + (int64_t)head * p->mask_head;
  const TW_MASK mask = w->mask[of_head + tw_query_of(w, row) * p->mask_query + token * p->mask_key];
#if TW_MASK_IS_FLOAT
  return score + mask;
#else
  return !mask == !p->shows ? score : p->hidden;
#endif
#else
  (void)w, (void)row, (void)token;
  return score;
#endif
}

/* Whether results are zeros, as no key has a weight. */
TW_GPU int32_t tw_is_empty(const tw_work *w, float sum) {
#ifdef TW_MASKED
  return w->p->empty_is_zero && !(sum > 0.0f);
#else
  (void)w, (void)sum;
  return 0;
#endif
}

#if TW_Q_IS_HALF && TW_IS_ASYNC
#include "gpu_attention_tensor.h"
#endif

/* Part of a line of channels, four at once where lines are multiples of that; floats of 16 bits become wide. */
TW_GPU void tw_copy_line(TW_LOCAL float *to, const TW_Q *from, int32_t first, int32_t channels, int32_t is_there) {
#if TW_Q_IS_HALF
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    to[i] = is_there && first + i < channels ? TW_Q_LOAD(from[first + i]) : 0.0f;
  }
#else
  if (channels % 4 == 0) {
    const int32_t valid = is_there && first < channels;
    tw_copy_16(to, valid ? from + first : from, valid);
    return;
  }
  TW_UNROLL for (int32_t i = 0; i < 4; i++) {
    const int32_t valid = is_there && first + i < channels;
    tw_copy_4(to + i, valid ? from + first + i : from, valid);
  }
#endif
}

/* The next part of keys or values: each block of keys has its parts of keys, then those of values. */
TW_GPU void tw_copy_step(const tw_work *w, int32_t step, int32_t t) {
  const int32_t parts = w->k_parts + w->v_parts, block = step / parts, part = step % parts;
  const int32_t is_value = part >= w->k_parts, line_step = is_value ? w->p->v_token : w->p->k_token;
  const int32_t channels = is_value ? w->p->rows.width : w->p->rows.length;
  const int32_t first = (is_value ? part - w->k_parts : part) * TW_PART + t % TW_ALONG * 4;
  const TW_Q *const tensor = is_value ? w->v : w->k;
  TW_LOCAL float *const to = (TW_LOCAL float *)tw_buffers + step % 2 * TW_BUFFER;
  for (int32_t key = t / TW_ALONG; key < TW_KEYS; key += TW_GROUP_SIZE / TW_ALONG) {
    const int32_t token = block * TW_KEYS + key, is_there = token < w->seen;
    const TW_Q *const line = is_there ? tensor + (int64_t)token * line_step : tensor;
    tw_copy_line(to + key * TW_PITCH + t % TW_ALONG * 4, line, first, channels, is_there);
  }
}

TW_GPU void tw_copy_queries(const tw_work *w, int32_t t) {
  const int32_t length = w->p->rows.length, row = t / TW_ALONG, is_there = w->first_row + row < tw_rows_there(w);
  const TW_Q *const line = is_there ? w->q + tw_row_at(w, row, length, w->p->q_token) : w->q;
  for (int32_t part = 0; part < w->k_parts; part++) {
    const int32_t first = part * TW_PART + t % TW_ALONG * 4;
    tw_copy_line((TW_LOCAL float *)tw_queries + row * TW_Q_PITCH + first, line, first, length, is_there);
  }
}

/* Some rows times one key, over one part of the channels. */
TW_GPU void tw_add_products(float *score, int32_t buffer, int32_t part, int32_t t) {
  const int32_t row = t / TW_KEYS * TW_OWN_ROWS, key = t % TW_KEYS;
  const TW_LOCAL tw_four *const k = tw_buffers + (buffer * TW_BUFFER + key * TW_PITCH) / 4;
  const TW_LOCAL tw_four *const q = tw_queries + (row * TW_Q_PITCH + part * TW_PART) / 4;
  TW_UNROLL_BY(TW_AT_ONCE)
  for (int32_t four = 0; four < TW_PART / 4; four++) {
    const tw_four b = k[four];
    TW_UNROLL for (int32_t r = 0; r < TW_OWN_ROWS; r++) {
      const tw_four a = q[r * TW_Q_PITCH / 4 + four];
      TW_UNROLL for (int32_t i = 0; i < 4; i++) score[r] += a.at[i] * b.at[i];
    }
  }
}

/* Scores go to shared memory; those of keys that a row does not see have no weight. */
TW_GPU void tw_store_scores(const tw_work *w, const float *score, int32_t block, int32_t t) {
  const int32_t row = t / TW_KEYS * TW_OWN_ROWS, key = t % TW_KEYS, token = block * TW_KEYS + key;
  TW_LOCAL float *const to = (TW_LOCAL float *)tw_scores + row * TW_PITCH + key;
  TW_UNROLL for (int32_t r = 0; r < TW_OWN_ROWS; r++) {
    const int32_t seen = tw_keys_seen(&w->p->rows, tw_query_of(w, row + r), w->position);
    const int32_t is_seen = token < seen && token >= tw_first_seen(w->p, seen);
    to[r * TW_PITCH] = is_seen ? tw_bent(w->p, score[r] * w->p->scale) : -INFINITY;
  }
#ifdef TW_MASKED
  TW_UNROLL_BY(1)
  for (int32_t r = 0; r < TW_OWN_ROWS; r++) {
    const int32_t seen = tw_keys_seen(&w->p->rows, tw_query_of(w, row + r), w->position);
    if (token < seen) to[r * TW_PITCH] = tw_masked(w, to[r * TW_PITCH], row + r, token);
  }
#endif
}

TW_GPU void tw_find_largest(tw_mix *mix, int32_t t) {
  const TW_LOCAL tw_four *const scores = tw_scores + t / TW_ALONG * TW_PITCH / 4;
  float largest = mix->largest;
  TW_UNROLL for (int32_t four = 0; four < TW_KEYS / 4; four++) {
    const tw_four score = scores[four];
    TW_UNROLL for (int32_t i = 0; i < 4; i++) largest = score.at[i] > largest ? score.at[i] : largest;
  }
  mix->next_largest = largest;
}

/* Scores become weights; nothing is hidden from exp but where all scores so far are -infinity. */
TW_GPU void tw_weigh(tw_mix *mix, int32_t t) {
  TW_LOCAL tw_four *const at = tw_scores + (t / TW_ALONG * TW_PITCH + t % TW_ALONG * 4) / 4;
  const float most = mix->next_largest == -INFINITY ? 0.0f : mix->next_largest;
  tw_four weight = *at;
  TW_UNROLL for (int32_t i = 0; i < 4; i++) weight.at[i] = tw_exp(weight.at[i] - most);
  *at = weight;
  const float shrink = tw_exp(mix->largest - most);
  mix->largest = mix->next_largest;
  mix->sum *= shrink;
  TW_UNROLL for (int32_t part = 0; part < TW_MOST_PARTS; part++) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) mix->mixed[part].at[i] *= shrink;
  }
}

/* Values times weights: four neighbours of a part of the channels. */
TW_GPU void tw_add_values(tw_four *mixed, float *sum, int32_t buffer, int32_t t) {
  const TW_LOCAL tw_four *const weights = tw_scores + t / TW_ALONG * TW_PITCH / 4;
  const TW_LOCAL tw_four *const v = tw_buffers + buffer * TW_BUFFER / 4 + t % TW_ALONG;
  TW_UNROLL_BY(TW_AT_ONCE)
  for (int32_t four = 0; four < TW_KEYS / 4; four++) {
    const tw_four weight = weights[four];
    TW_UNROLL for (int32_t key = 0; key < 4; key++) {
      const tw_four value = v[(four * 4 + key) * TW_PITCH / 4];
      *sum += weight.at[key];
      TW_UNROLL for (int32_t i = 0; i < 4; i++) mixed->at[i] += weight.at[key] * value.at[i];
    }
  }
}

TW_GPU void tw_store_row(const tw_work *w, const tw_mix *mix, int32_t t) {
  const int32_t row = t / TW_ALONG, width = w->p->rows.width;
  if (w->first_row + row >= tw_rows_there(w)) return;
  TW_Y *const y = w->y + tw_row_at(w, row, width, w->p->rows.groups * w->p->rows.repeat * width);
  const int32_t is_empty = tw_is_empty(w, mix->sum);
  const float unit = 1.0f / mix->sum;
  TW_UNROLL for (int32_t part = 0; part < TW_MOST_PARTS; part++) {
    TW_UNROLL for (int32_t i = 0; i < 4; i++) {
      const int32_t channel = part * TW_PART + t % TW_ALONG * 4 + i;
      if (channel < width) y[channel] = TW_Y_STORE(is_empty ? 0.0f : mix->mixed[part].at[i] * unit);
    }
  }
}

static inline tw_grid grid(const tw_gpu_attention_params *params) {
  const tw_attention_rows *const r = &params->rows;
  const tw_grid groups = {(r->queries * r->repeat + TW_ROWS - 1) / TW_ROWS, r->groups, r->batch};
  return groups;
}

/* The buffer of a step has arrived, and nobody needs the other one: the step after it is on its way there. */
#define TW_NEXT_STEP()                                                             \
  tw_copies_pending(0);                                                            \
  TW_MEET();                                                                       \
  TW_ITEMS(t) {                                                                    \
    if (step + 1 < steps) tw_copy_step(&w, step + 1, t);                           \
    tw_copies_commit();                                                            \
  }

TW_GPU void group(const tw_gpu_attention_params *params, const TW_Q *q, const TW_Q *k, const TW_Q *v,
                  const int32_t *position, TW_MASK_DECLARED TW_Y *y) {
  const tw_attention_rows *const r = &params->rows;
  if (!k) {
    k = q + r->groups * r->repeat * r->length;
    v = k + r->groups * r->length;
  }
  const int64_t query = (int64_t)TW_GROUP_Z * r->queries, key = (int64_t)TW_GROUP_Z * r->keys;
  const int32_t head = TW_GROUP_Y * r->repeat;
  const int32_t first_row = TW_GROUP_X * TW_ROWS, rows = r->queries * r->repeat;
  const int32_t last_row = first_row + TW_ROWS < rows ? first_row + TW_ROWS - 1 : rows - 1;
  const tw_work w = {
      params, q + query * params->q_token + head * r->length, k + key * params->k_token + TW_GROUP_Y * r->length,
      v + key * params->v_token + TW_GROUP_Y * r->width,
      y + (query * r->groups * r->repeat + head) * r->width,
      position, first_row, tw_keys_seen(r, last_row / r->repeat, position),
      tw_first_seen(params, tw_keys_seen(r, first_row / r->repeat, position)),
      (r->length + TW_PART - 1) / TW_PART, (r->width + TW_PART - 1) / TW_PART,
#ifdef TW_MASKED
      mask,
#endif
  };
#if TW_Q_IS_HALF && TW_IS_ASYNC
  if (!((r->length | r->width) & 7)) {
    TW_ITEMS(t) { tw_on_tensor_cores(&w, TW_PART * TW_MOST_PARTS, t); }
    return;
  }
#endif
  TW_ITEM_OWN(tw_mix, mix, [1]);
  TW_ITEM_OWN(float, score, [TW_OWN_ROWS]);
  const int32_t first_block = w.first / TW_KEYS;
  TW_ITEMS(t) {
    tw_copy_queries(&w, t);
    tw_copy_step(&w, first_block * (w.k_parts + w.v_parts), t);
    tw_copies_commit();
    *mix[TW_OWN(t)] = (tw_mix){-INFINITY, 0.0f, 0.0f, {{{0}}}};
  }
  const int32_t blocks = (w.seen + TW_KEYS - 1) / TW_KEYS, steps = blocks * (w.k_parts + w.v_parts);
  int32_t step = first_block * (w.k_parts + w.v_parts);
  for (int32_t block = first_block; block < blocks; block++) {
    TW_ITEMS(t) {
      TW_UNROLL for (int32_t i = 0; i < TW_OWN_ROWS; i++) score[TW_OWN(t)][i] = 0.0f;
    }
    for (int32_t part = 0; part < w.k_parts; part++, step++) {
      TW_NEXT_STEP()
      TW_ITEMS(t) { tw_add_products(score[TW_OWN(t)], step % 2, part, t); }
    }
    TW_ITEMS(t) { tw_store_scores(&w, score[TW_OWN(t)], block, t); }
    TW_MEET();
    TW_ITEMS(t) { tw_find_largest(mix[TW_OWN(t)], t); }
    TW_MEET();
    TW_ITEMS(t) { tw_weigh(mix[TW_OWN(t)], t); }
    TW_UNROLL for (int32_t part = 0; part < TW_MOST_PARTS; part++) {
      if (part < w.v_parts) {
        TW_NEXT_STEP()
        TW_ITEMS(t) {
          float again = 0.0f; /* the sum is needed once */
          tw_add_values(&mix[TW_OWN(t)]->mixed[part], part == 0 ? &mix[TW_OWN(t)]->sum : &again, step % 2, t);
        }
        step++;
      }
    }
  }
  TW_ITEMS(t) { tw_store_row(&w, mix[TW_OWN(t)], t); }
}

TW_GPU_KERNEL(tw_gpu_attention_params,
              (const TW_Q *q, const TW_Q *k, const TW_Q *v, const int32_t *position, TW_MASK_DECLARED TW_Y *y),
              (q, k, v, position, TW_MASK_GIVEN y))
