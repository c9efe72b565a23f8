/* Scores as floats, and the state of a context as bytes: what it has read, so that another one goes on from there.
 *
 * A state is a header, the parts of context that tokens change, the rows of the caches that are in use, one cache after
 * another, and a checksum of all that. */
#include <string.h>

#define TW_LM_STATES
#include "calls.h"

#define MAGIC "TWSTATE"
enum { VERSION = 1 };

typedef TW_LM_FUNCTION(context) context;

typedef struct {
  char magic[8];
  uint32_t version;
  int32_t held, given, is_scored;
  uint64_t bytes, layout, contents;
} state_header;

/* Where bytes are taken from, or put to; without either they are counted. */
typedef struct {
  const unsigned char *from;
  unsigned char *to;
  size_t at;
} copying;

static void copy(copying *copied, void *place, size_t bytes) {
  if (copied->to) memcpy(copied->to + copied->at, place, bytes);
  if (copied->from) memcpy(place, copied->from + copied->at, bytes);
  copied->at += bytes;
}

static size_t cache_bytes(const cache *one, int32_t held) {
  return one->row_bytes ? one->row_bytes * (((size_t)held + one->tokens - 1) / one->tokens) : one->bytes;
}

/* All that is between header and checksum. */
static void copy_parts(context *c, copying *copied, int32_t held, int32_t is_scored) {
#if !TW_LM_GREEDY
  uint32_t *const seen = c->sampler.seen;
  copy(copied, &c->sampler.random, sizeof c->sampler.random);
  copy(copied, &c->sampler.settings, sizeof c->sampler.settings);
  copy(copied, &c->sampler.rate, sizeof c->sampler.rate);
  copy(copied, &c->sampler.inverse, sizeof c->sampler.inverse);
  copy(copied, seen, sizeof c->seen);
  if (is_scored) copy(copied, c->logits, sizeof c->logits);
#endif
  if (is_scored) copy(copied, c->best, sizeof c->best);
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
    copy(copied, c->arena + caches[i].offset, cache_bytes(&caches[i], held));
}

/* Eight bytes at a time. */
static uint64_t checksum(const unsigned char *data, size_t bytes) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325), word = 0;
  for (size_t at = 0; at < bytes; at += sizeof word) {
    const size_t left = bytes - at < sizeof word ? bytes - at : sizeof word;
    word = 0;
    memcpy(&word, data + at, left);
    sum = (sum ^ word) * UINT64_C(0x100000001b3);
    sum ^= sum >> 32;
  }
  return sum;
}

static size_t total_bytes(context *c, int32_t held, int32_t is_scored) {
  copying counted = {0, 0, sizeof(state_header)};
  copy_parts(c, &counted, held, is_scored);
  return counted.at + sizeof(uint64_t);
}

size_t TW_LM_FUNCTION(state_bytes)(context *c) { return total_bytes(c, c->held, c->is_scored); }

int32_t TW_LM_FUNCTION(save)(context *c, void *to, size_t bytes) {
  const size_t total = TW_LM_FUNCTION(state_bytes)(c);
  const state_header header = {MAGIC, VERSION, c->held, c->given, c->is_scored, total, TW_LM_LAYOUT, TW_LM_CONTENTS(c)};
  copying copied = {0, to, sizeof header};
  if (bytes < total) return TW_MODEL_MEMORY;
#if TW_LM_ON_GPU
  if (tw_gpu_fetch(&TW_LM_GPU_NETWORK, c->arena, c->weights) != 0) return TW_MODEL_FAILED;
#endif
  memcpy(to, &header, sizeof header);
  copy_parts(c, &copied, c->held, c->is_scored);
  const uint64_t sum = checksum(to, total - sizeof sum);
  memcpy(copied.to + copied.at, &sum, sizeof sum);
  return 0;
}

static int is_sound(context *c, const state_header *header, const unsigned char *from, size_t bytes) {
  uint64_t sum;
  if (memcmp(header->magic, MAGIC, sizeof header->magic) != 0 || header->version != VERSION) return 0;
  if (header->layout != TW_LM_LAYOUT || header->contents != TW_LM_CONTENTS(c) || header->bytes != bytes) return 0;
  if (header->held < 0 || header->held > TW_LM_CONTEXT || header->given >= TW_LM_VOCABULARY) return 0;
  if (header->given >= 0 && header->held == TW_LM_CONTEXT) return 0;
  if (total_bytes(c, header->held, header->is_scored) != bytes) return 0;
  memcpy(&sum, from + bytes - sizeof sum, sizeof sum);
  return sum == checksum(from, bytes - sizeof sum);
}

int32_t TW_LM_FUNCTION(restore)(context *c, const void *from, size_t bytes) {
  state_header header;
  if (bytes < sizeof header + sizeof(uint64_t)) return TW_MODEL_STATE;
  memcpy(&header, from, sizeof header);
  if (!is_sound(c, &header, from, bytes)) return TW_MODEL_STATE;
  copying copied = {from, 0, sizeof header};
  c->held = header.held;
  c->given = header.given;
  c->is_scored = header.is_scored;
  copy_parts(c, &copied, c->held, c->is_scored);
#if TW_LM_ON_GPU
  if (tw_gpu_keep(&TW_LM_GPU_NETWORK, c->arena, c->weights) != 0) return TW_MODEL_FAILED;
#endif
  return 0;
}

#if !TW_LM_GREEDY
int32_t TW_LM_FUNCTION(scores)(context *c, float *to) {
  if (!c->is_scored || c->given >= 0) return TW_MODEL_NOTHING_READ;
  for (int32_t i = 0; i < TW_LM_VOCABULARY; i++) to[i] = TW_LM_SCORE(c->logits[i]);
  return 0;
}
#endif
