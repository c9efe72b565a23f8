/* y = softmax(scale * q k') v of floats for few queries, as those of one new token: a group for each row. Keys
 * and values come to shared memory, as many as fit at a time. Eight neighbouring items have a key and its value, some
 * pieces of their channels each; all keep the largest score, the sum of weights and the mixed values of what they have
 * seen, which are joined at the end. With cosines and sines, queries are rotated before. With rows of one new token its
 * key, rotated as well, and its value are written into the caches: what k and v have there is not read. The others are
 * asked for while the launches before go on. */
#define TW_GROUP_SIZE 256
#ifdef TW_LIMITED
#define TW_GROUPS_AT_ONCE 2
#endif
#define TW_WAITS_ITSELF
#ifdef TW_GPU_OPENCL
#define TW_DYNAMIC_BYTES 16384
#else
#define TW_DYNAMIC_BYTES 49152 /* half for keys, half for values: groups find room beside those of the launch before */
#endif
#include <math.h>

#include "fast_exp.h"
#include "gpu_async.h"
#include "gpu_attention_limits.h"
#include "gpu_lanes.h"
#include "gpu_turn.h"
#include "half.h"
#include "tw.h"

#ifndef TW_NAME
#include "gpu_channels_64.h"
#define TW_NAME tw_gpu_attention_few
#define TW_Q float
#define TW_K float
#define TW_V float
#define TW_COSINE float
#define TW_SINE float
#define TW_KEY float
#define TW_VALUE float
#define TW_Y float
#define TW_KEYS float
#define TW_VALUES float
#endif
#ifndef TW_Q_LOAD
#define TW_Q_LOAD(element) (element)
#endif
#ifndef TW_K_LOAD
#define TW_K_LOAD(element) (element)
#endif
#ifndef TW_K_STORE
#define TW_K_STORE(value) (value)
#endif
#ifndef TW_V_LOAD
#define TW_V_LOAD(element) (element)
#endif
#ifndef TW_Y_STORE
#define TW_Y_STORE(value) (value)
#endif

enum {
  TW_MOST_CHANNELS = 64 * TW_MOST_PARTS,
  TW_PIECE = 16 / sizeof(TW_K), /* channels that are read at once */
  TW_LANES = 8,                 /* items that share a key */
  TW_SLOTS = TW_GROUP_SIZE / TW_LANES,
  TW_ROW_PIECES = TW_MOST_CHANNELS / TW_PIECE,
  TW_PIECES = TW_ROW_PIECES / TW_LANES,                                          /* of an item */
  TW_TOKENS = TW_DYNAMIC_BYTES / 2 / (TW_MOST_CHANNELS * sizeof(TW_K)), /* in shared memory at once */
  TW_TOGETHER = 2, /* keys that an item looks at together */
  TW_WARPS = TW_GROUP_SIZE / 32,
  TW_MIXED = TW_PIECES * TW_PIECE, /* channels of an item; behind them the largest score and the sum */
  TW_LINE = 128, /* bytes that memory is asked for at once */
  TW_NEVER = -1
};

/* As words, of which GPUs keep one in a register: two floats of 16 bits, the first one in the lower half. */
typedef struct {
  uint32_t at[4];
} __attribute__((aligned(16), may_alias)) tw_piece;

typedef struct {
  float at[TW_PIECE];
} __attribute__((aligned(16), may_alias)) tw_floats;

typedef TW_K __attribute__((may_alias)) tw_element;

#define TW_OF_WORDS(LOAD, WORDS, I)                                                         \
  (sizeof(TW_K) == 2 ? LOAD((uint16_t)((WORDS)[(I) / 2 % 4] >> ((I) % 2 * 16))) : tw_float_of_bits((WORDS)[(I) % 4]))

TW_GROUP_DYNAMIC(tw_piece, tw_tokens);
TW_GROUP_SHARED(tw_floats, tw_query, [TW_ROW_PIECES]);
TW_GROUP_SHARED(float, tw_found, [TW_WARPS][TW_MOST_CHANNELS + 2]);

/* What a group works on. */
typedef struct {
  const TW_K *k;
  const TW_V *v;
  int32_t k_token, v_token, length, width, keys, seen, now, has_pieces;
} tw_work;

/* Where a piece of a token is: pieces change places from token to token, so that neighbours lie in different banks. */
TW_GPU int32_t tw_place(int32_t token, int32_t piece) { return token * TW_ROW_PIECES + (piece ^ (token & 7)); }

TW_GPU TW_LOCAL tw_element *tw_element_at(TW_LOCAL tw_piece *tokens, int32_t token, int32_t channel) {
  return (TW_LOCAL tw_element *)(tokens + tw_place(token, channel / TW_PIECE)) + channel % TW_PIECE;
}

/* Some tokens of a cache to shared memory, but for the new one; zeros behind the last channel. */
TW_GPU void tw_bring(TW_LOCAL tw_piece *tokens, const TW_K *from, const tw_work *w, int32_t step, int32_t channels,
                     int32_t first) {
  const int32_t count = w->seen - first < TW_TOKENS ? w->seen - first : TW_TOKENS;
  if (w->has_pieces) {
    TW_ITEMS(t) {
      TW_UNROLL_BY(4)
      for (int32_t i = t; i < count * TW_ROW_PIECES; i += TW_GROUP_SIZE) {
        const int32_t token = i / TW_ROW_PIECES, piece = i % TW_ROW_PIECES, is_there = piece * TW_PIECE < channels;
        const TW_K *const row = from + (int64_t)(first + token) * step;
        if (first + token != w->now) {
          tw_copy_16(tokens + tw_place(token, piece), row + (is_there ? piece * TW_PIECE : 0), is_there);
        }
      }
    }
  } else {
    TW_ITEMS(t) {
      for (int32_t i = t; i < count * TW_MOST_CHANNELS; i += TW_GROUP_SIZE) {
        const int32_t token = i / TW_MOST_CHANNELS, channel = i % TW_MOST_CHANNELS;
        if (first + token != w->now) {
          *tw_element_at(tokens, token, channel) =
              channel < channels ? from[(int64_t)(first + token) * step + channel] : 0;
        }
      }
    }
  }
}

/* What an item's channels add to the score of a key. */
TW_GPU float tw_share(const TW_LOCAL tw_piece *keys, int32_t token, int32_t t) {
  float sum = 0.0f;
  TW_UNROLL for (int32_t p = 0; p < TW_PIECES; p++) {
    const int32_t own = p * TW_LANES + t % TW_LANES;
    const tw_piece key = keys[tw_place(token, own)];
    const tw_floats query = tw_query[own];
    TW_UNROLL for (int32_t i = 0; i < TW_PIECE; i++) sum += TW_OF_WORDS(TW_K_LOAD, key.at, i) * query.at[i];
  }
  return sum;
}

/* Weights are powers of e; what was found before shrinks where a score is larger. */
TW_GPU void tw_mix(float *mix, const TW_LOCAL tw_piece *values, int32_t token, float score, int32_t t) {
  const float largest = score > mix[TW_MIXED] ? score : mix[TW_MIXED], base = largest == -INFINITY ? 0.0f : largest;
  const float shrink = tw_exp(mix[TW_MIXED] - base), weight = tw_exp(score - base);
  mix[TW_MIXED] = largest;
  mix[TW_MIXED + 1] = mix[TW_MIXED + 1] * shrink + weight;
  TW_UNROLL for (int32_t p = 0; p < TW_PIECES; p++) {
    const tw_piece value = values[tw_place(token, p * TW_LANES + t % TW_LANES)];
    TW_UNROLL for (int32_t i = 0; i < TW_PIECE; i++) {
      float *const channel = &mix[p * TW_PIECE + i];
      *channel = *channel * shrink + weight * TW_OF_WORDS(TW_V_LOAD, value.at, i);
    }
  }
}

/* What two have found of different keys. */
TW_GPU void tw_join(float *mix, const float *other) {
  const float largest = mix[TW_MIXED] < other[TW_MIXED] ? other[TW_MIXED] : mix[TW_MIXED];
  const float base = largest == -INFINITY ? 0.0f : largest;
  const float own = tw_exp(mix[TW_MIXED] - base), others = tw_exp(other[TW_MIXED] - base);
  TW_UNROLL for (int32_t c = 0; c < TW_MIXED; c++) mix[c] = mix[c] * own + other[c] * others;
  mix[TW_MIXED] = largest;
  mix[TW_MIXED + 1] = mix[TW_MIXED + 1] * own + other[TW_MIXED + 1] * others;
}

/* A channel of what all warps have found. */
TW_GPU float tw_result(int32_t channel) {
  float largest = tw_found[0][TW_MOST_CHANNELS], sum = 0.0f, mixed = 0.0f;
  TW_UNROLL for (int32_t warp = 1; warp < TW_WARPS; warp++) {
    const float other = tw_found[warp][TW_MOST_CHANNELS];
    largest = other > largest ? other : largest;
  }
  TW_UNROLL for (int32_t warp = 0; warp < TW_WARPS; warp++) {
    const float weight = tw_exp(tw_found[warp][TW_MOST_CHANNELS] - largest);
    sum += weight * tw_found[warp][TW_MOST_CHANNELS + 1];
    mixed += weight * tw_found[warp][channel];
  }
  return mixed / sum;
}

/* The rest of a cache that is made elsewhere: some channels of all tokens but one. */
TW_GPU void tw_copy_others(TW_K *to, const TW_K *from, int32_t keys, int32_t step, int32_t channels, int32_t now) {
  if ((const void *)to == (const void *)from) return;
  TW_ITEMS(t) {
    for (int32_t i = t; i < keys * channels; i += TW_GROUP_SIZE) {
      const int64_t at = (int64_t)(i / channels) * step + i % channels;
      if (i / channels != now) to[at] = from[at];
    }
  }
}

/* Key and value of a new token, and where they are written by the first of the heads that share them. */
typedef struct {
  const TW_KEY *key;
  const TW_VALUE *value;
  TW_KEYS *keys;
  TW_VALUES *values;
  int32_t is_first;
} tw_new;

/* An item's channel of the query, scaled, and of a new token's key, both rotated where there are cosines; and of its value.
 * All that they are made of is on its way together. */
typedef struct {
  float query, key;
  TW_V value;
} tw_channel;

TW_GPU tw_channel tw_channel_at(const tw_gpu_attention_params *p, const TW_Q *q, const tw_new *own,
                                const TW_COSINE *cosine, const TW_SINE *sine, int32_t at) {
  const int32_t length = p->rows.length, there = at < length ? at : 0;
  const int32_t away = cosine ? tw_other(there, length, p->interleaved) : 0;
  const TW_Q query = q[there], query_other = q[there + away];
  TW_KEY key = 0, key_other = 0;
  float cosine_there = 1.0f, sine_there = 0.0f;
  tw_channel found = {0.0f, 0.0f, 0};
  if (own->key) {
    key = own->key[there];
    key_other = own->key[there + away];
    found.value = own->value[at < p->rows.width ? at : 0];
  }
  if (cosine) {
    cosine_there = TW_COSINE_LOAD(cosine[there]);
    sine_there = TW_SINE_LOAD(sine[there]);
  }
  found.query = TW_Q_LOAD(query);
  found.key = TW_Q_LOAD(key);
  if (cosine) {
    found.query = tw_turned(found.query, TW_Q_LOAD(query_other), away, cosine_there, sine_there);
    found.key = tw_turned(found.key, TW_Q_LOAD(key_other), away, cosine_there, sine_there);
  }
  found.query *= p->scale;
  return found;
}

/* A new token to its place among the tokens in shared memory from `first` on, and into the caches. */
TW_GPU void tw_write_new(const tw_work *w, const tw_new *own, const tw_channel *channel, int32_t first, int32_t t) {
  const int32_t at = t % TW_MOST_CHANNELS;
  if (t < TW_MOST_CHANNELS) {
    const TW_V stored = at < w->width ? channel->value : 0;
    *tw_element_at(tw_tokens + TW_TOKENS * TW_ROW_PIECES, w->now - first, at) = stored;
    if (own->is_first && at < w->width) own->values[(int64_t)w->now * w->v_token + at] = stored;
  } else if (t < 2 * TW_MOST_CHANNELS) {
    const TW_K stored = TW_K_STORE(at < w->length ? channel->key : 0.0f);
    *tw_element_at(tw_tokens, w->now - first, at) = stored;
    if (own->is_first && at < w->length) own->keys[(int64_t)w->now * w->k_token + at] = stored;
  }
}

/* Asks for so many rows, which are `step` bytes apart. */
TW_GPU void tw_ask_for_rows(const void *first, int64_t step, int32_t count, int32_t bytes, int32_t t) {
  const int32_t lines = (bytes + TW_LINE - 1) / TW_LINE;
  for (int32_t i = t; i < count * lines; i += TW_GROUP_SIZE) {
    tw_ask_for((const uint8_t *)first + i / lines * step + i % lines * TW_LINE);
  }
}

/* Asks for what a query sees of a cache, and for its cosines and sines: memory is slow to bring a few lines when many
 * weights have been asked for. The position may not be there yet: then other rows are asked for. */
TW_GPU void tw_ask_early(const tw_gpu_attention_params *p, const tw_work *w, const int32_t *position,
                         const TW_COSINE *cosine, const TW_SINE *sine) {
  const int32_t early = *(const volatile int32_t *)position, seen = tw_keys_seen(&p->rows, TW_GROUP_Y, &early);
  const int32_t first = tw_first_seen(p, seen);
  const int32_t k_step = w->k_token * (int32_t)sizeof(TW_K), v_step = w->v_token * (int32_t)sizeof(TW_V);
  TW_ITEMS(t) {
    if (cosine) {
      tw_ask_for_rows(cosine, 0, 1, w->length * (int32_t)sizeof(TW_COSINE), t);
      tw_ask_for_rows(sine, 0, 1, w->length * (int32_t)sizeof(TW_SINE), t);
    }
    tw_ask_for_rows(w->k + (int64_t)first * w->k_token, k_step, seen - first, w->length * (int32_t)sizeof(TW_K), t);
    tw_ask_for_rows(w->v + (int64_t)first * w->v_token, v_step, seen - first, w->width * (int32_t)sizeof(TW_V), t);
  }
}

static inline tw_grid grid(const tw_gpu_attention_params *params) {
  const tw_attention_rows *const r = &params->rows;
  const tw_grid groups = {r->groups * r->repeat, r->queries, r->batch};
  return groups;
}

TW_GPU void group(const tw_gpu_attention_params *params, const TW_Q *q, const TW_K *k, const TW_V *v,
                  const int32_t *position, const TW_COSINE *cosine, const TW_SINE *sine, const TW_KEY *new_key,
                  const TW_VALUE *new_value, TW_Y *y, TW_KEYS *keys, TW_VALUES *values) {
  const tw_attention_rows *const r = &params->rows;
  const int32_t width = r->width, shared = TW_GROUP_X / r->repeat;
  const int64_t query = (int64_t)TW_GROUP_Z * r->queries + TW_GROUP_Y, key = (int64_t)TW_GROUP_Z * r->keys;
  if (!k) {
    k = (const TW_K *)(q + r->groups * r->repeat * r->length);
    v = (const TW_V *)(k + r->groups * r->length);
  }
  q += query * params->q_token + TW_GROUP_X * r->length;
  y += (query * r->groups * r->repeat + TW_GROUP_X) * width;
  tw_work w = {
      k + key * params->k_token + shared * r->length, v + key * params->v_token + shared * width,
      params->k_token, params->v_token, r->length, width, r->keys, 0, TW_NEVER,
      !((r->length | width | params->q_token | params->k_token | params->v_token) % TW_PIECE)};
  const tw_new own = {new_key ? new_key + shared * r->length : NULL, new_value + shared * width,
                      keys + shared * r->length, values + shared * width, TW_GROUP_X % r->repeat == 0};
  TW_LOCAL tw_piece *const tokens_v = tw_tokens + TW_TOKENS * TW_ROW_PIECES;
  TW_ITEM_OWN(float, mix, [TW_MIXED + 2]);
  TW_ITEM_OWN(float, other, [TW_MIXED + 2]);
  TW_ITEM_OWN(float, score, [TW_TOGETHER]);
  TW_ITEM_OWN(tw_channel, channel, [1]);
  if (new_key && own.is_first) tw_ask_early(params, &w, position, cosine, sine);
  TW_AFTER_OTHERS();
  w.seen = tw_keys_seen(r, TW_GROUP_Y, position);
  if (new_key) w.now = tw_clamp(position[0], 0, r->keys);
  if (new_key && own.is_first) {
    tw_copy_others(own.keys, w.k, w.keys, w.k_token, w.length, w.now);
    tw_copy_others(own.values, w.v, w.keys, w.v_token, width, w.now);
  }
  TW_ITEMS(t) {
    channel[TW_OWN(t)][0] = tw_channel_at(params, q, &own, cosine, sine, t % TW_MOST_CHANNELS);
    TW_UNROLL for (int32_t c = 0; c < TW_MIXED + 2; c++) mix[TW_OWN(t)][c] = 0.0f;
    mix[TW_OWN(t)][TW_MIXED] = -INFINITY;
  }
  const int32_t start_token = tw_first_seen(params, w.seen);
  for (int32_t first = start_token; first < w.seen; first += TW_TOKENS) {
    const int32_t count = w.seen - first < TW_TOKENS ? w.seen - first : TW_TOKENS;
    if (first != start_token) TW_MEET();
    tw_bring(tw_tokens, w.k, &w, w.k_token, w.length, first);
    tw_bring(tokens_v, w.v, &w, w.v_token, width, first);
    tw_copies_commit();
    TW_ITEMS(t) {
      if (new_key && w.now >= first && w.now < first + count) tw_write_new(&w, &own, channel[TW_OWN(t)], first, t);
      if (first == start_token && t < TW_MOST_CHANNELS) {
        tw_query[t / TW_PIECE].at[t % TW_PIECE] = t < r->length ? channel[TW_OWN(t)]->query : 0.0f;
      }
    }
    tw_copies_pending(0);
    TW_MEET();
    if (first == start_token) TW_LET_OTHERS(); /* the weights that these ask for would be before what came now */
    for (int32_t start = 0; start < count; start += TW_TOGETHER * TW_SLOTS) {
      TW_ITEMS(t) {
        TW_UNROLL for (int32_t i = 0; i < TW_TOGETHER; i++) {
          const int32_t token = start + i * TW_SLOTS + t / TW_LANES;
          score[TW_OWN(t)][i] = tw_share(tw_tokens, token < count ? token : 0, t);
        }
      }
      TW_SUM_LANES(score, other, 0, TW_TOGETHER, TW_LANES);
      TW_ITEMS(t) {
        TW_UNROLL for (int32_t i = 0; i < TW_TOGETHER; i++) {
          const int32_t token = start + i * TW_SLOTS + t / TW_LANES;
          if (token < count) tw_mix(mix[TW_OWN(t)], tokens_v, token, tw_bent(params, score[TW_OWN(t)][i]), t);
        }
      }
    }
  }
  for (int32_t apart = TW_LANES; apart < 32; apart *= 2) {
    TW_OTHER_LANES(other, mix, 0, TW_MIXED + 2, apart);
    TW_ITEMS(t) { tw_join(mix[TW_OWN(t)], other[TW_OWN(t)]); }
  }
  TW_ITEMS(t) {
    if (t % 32 < TW_LANES) {
      TW_LOCAL float *const found = tw_found[t / 32];
      TW_UNROLL for (int32_t c = 0; c < TW_MIXED; c++) {
        found[(c / TW_PIECE * TW_LANES + t % TW_LANES) * TW_PIECE + c % TW_PIECE] = mix[TW_OWN(t)][c];
      }
      found[TW_MOST_CHANNELS] = mix[TW_OWN(t)][TW_MIXED];
      found[TW_MOST_CHANNELS + 1] = mix[TW_OWN(t)][TW_MIXED + 1];
    }
  }
  TW_MEET();
  TW_ITEMS(t) {
    if (t < width) y[t] = TW_Y_STORE(tw_result(t));
  }
}

TW_GPU_KERNEL(tw_gpu_attention_params,
              (const TW_Q *q, const TW_K *k, const TW_V *v, const int32_t *position, const TW_COSINE *cosine,
               const TW_SINE *sine, const TW_KEY *new_key, const TW_VALUE *new_value, TW_Y *y, TW_KEYS *keys,
               TW_VALUES *values),
              (q, k, v, position, cosine, sine, new_key, new_value, y, keys, values))
