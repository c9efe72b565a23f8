/* A network that learns: steps, updates and inference, in one static memory with one set of weights.
 *
 * calls.h, which is generated, says how its networks are called and where the states lie. */
#define TW_LEARNER_CALLS
#include "calls.h"

static uint32_t steps_since_update;

static int done(int status) { return status == 0 ? 0 : TW_LEARNER_FAILED; }

/* Whether a float is a number: without <math.h>, which not every device has. */
static int is_finite(float value) {
  union {
    float number;
    uint32_t bits;
  } both;
  both.number = value;
  return (both.bits & 0x7f800000u) != 0x7f800000u;
}

/* The next step overwrites the gradients. */
static void begin_accumulation(void) {
  steps_since_update = 0;
#if TW_LEARNER_FIRST >= 0
  memory_at(TW_LEARNER_FIRST)[0] = 1;
#endif
}

int TW_LEARNER_FUNCTION(reset)(void) {
  steps_since_update = 0;
  return done(reset_states());
}

int TW_LEARNER_FUNCTION(train)(TW_LEARNER_TRAIN_PARAMETERS) {
#if TW_LEARNER_CLASSES
  /* Names that no input has: arguments are called as the network calls them. */
  for (int32_t tw_place = 0; tw_place < TW_LEARNER_LABELS; tw_place++) {
    const int64_t tw_class = (int64_t)TW_LEARNER_LABEL_NAME[tw_place];
    if (tw_class < 0 || tw_class >= TW_LEARNER_CLASSES) return TW_LEARNER_LABEL;
  }
#endif
  if (run_train(TW_LEARNER_TRAIN_ARGUMENTS) != 0) return TW_LEARNER_FAILED;
  if (!is_finite(*TW_LEARNER_LOSS_NAME)) {
    begin_accumulation();
    return TW_LEARNER_NOT_FINITE;
  }
  steps_since_update++;
  return 0;
}

int TW_LEARNER_FUNCTION(update)(void) {
  if (steps_since_update == 0) return TW_LEARNER_NOTHING_LEARNED;
  steps_since_update = 0;
  return done(run_update());
}

#if TW_LEARNER_INFERS
int TW_LEARNER_FUNCTION(infer)(TW_LEARNER_INFER_PARAMETERS) { return done(run_infer(TW_LEARNER_INFER_ARGUMENTS)); }
#endif

/* ---- what is kept when the power is off -----------------------------------------------------------------------------
 *
 * Two slots of a header and the states. The older slot is written: first its header is made invalid, then the
 * states are written, then the header. Whenever the power fails, the other slot is whole. */

#define MAGIC 0x746c7754u
#define FORMAT 1u

typedef struct {
  uint32_t magic, format;
  uint32_t network[2]; /* which one, and which version of it */
  uint32_t turn;       /* counts saves; the slot of the later one is loaded */
  uint32_t bytes;
  uint32_t states_sum, header_sum;
} header;

typedef char header_has_its_size[sizeof(header) == TW_LEARNER_HEADER_BYTES ? 1 : -1];

static uint32_t sum_of(uint32_t sum, const void *data, uint32_t bytes) {
  const unsigned char *at = data;
  for (uint32_t i = 0; i < bytes; i++) {
    sum ^= at[i];
    for (int bit = 0; bit < 8; bit++) sum = (sum >> 1) ^ (0xedb88320u & (0u - (sum & 1u)));
  }
  return sum;
}

static uint32_t sum_of_header(const header *one) {
  return ~sum_of(0xffffffffu, one, (uint32_t)offsetof(header, header_sum));
}

static const unsigned char *slot_at(const void *buffer, int slot) {
  return (const unsigned char *)buffer + (uint32_t)slot * TW_LEARNER_SLOT_BYTES;
}

/* Whether a slot holds states that were saved whole. */
static int read_slot(const void *buffer, int slot, header *found) {
  memcpy(found, slot_at(buffer, slot), sizeof *found);
  if (found->magic != MAGIC || found->header_sum != sum_of_header(found)) return TW_LEARNER_NOTHING_SAVED;
  if (found->format != FORMAT || found->network[0] != TW_LEARNER_NETWORK_0 ||
      found->network[1] != TW_LEARNER_NETWORK_1 || found->bytes != TW_LEARNER_STATES_BYTES)
    return TW_LEARNER_OTHER_NETWORK;
  const uint32_t sum = sum_of(0xffffffffu, slot_at(buffer, slot) + sizeof *found, TW_LEARNER_STATES_BYTES);
  return ~sum == found->states_sum ? 0 : TW_LEARNER_NOTHING_SAVED;
}

/* The slot of the last save, or an error; `latest` gets its header. */
static int latest_slot(const void *buffer, header *latest) {
  header found[2];
  const int first = read_slot(buffer, 0, &found[0]), second = read_slot(buffer, 1, &found[1]);
  if (first != 0 && second != 0)
    return first == TW_LEARNER_OTHER_NETWORK ? first : second;
  /* The count may have begun anew. */
  const int slot = first != 0 || (second == 0 && (int32_t)(found[1].turn - found[0].turn) > 0);
  *latest = found[slot];
  return slot;
}

static int write_states(unsigned char *to, uint32_t *sum) {
  for (uint32_t i = 0; i < TW_LEARNER_STATES; i++) {
    const unsigned char *const from = memory_at(states[i].offset);
    *sum = sum_of(*sum, from, states[i].bytes);
    if (TW_LEARNER_WRITE(to, from, states[i].bytes) != 0) return TW_LEARNER_NOT_WRITTEN;
    to += states[i].bytes;
  }
  return 0;
}

int TW_LEARNER_FUNCTION(save)(void *buffer) {
  header last = {0}, next = {0};
  const int latest = latest_slot(buffer, &last);
  unsigned char *const to = (unsigned char *)buffer + (latest == 0 ? TW_LEARNER_SLOT_BYTES : 0u);
  uint32_t sum = 0xffffffffu;
  if (TW_LEARNER_WRITE(to, (const unsigned char *)&next, sizeof next) != 0) return TW_LEARNER_NOT_WRITTEN;
  if (write_states(to + sizeof next, &sum) != 0) return TW_LEARNER_NOT_WRITTEN;
  next.magic = MAGIC;
  next.format = FORMAT;
  next.network[0] = TW_LEARNER_NETWORK_0;
  next.network[1] = TW_LEARNER_NETWORK_1;
  next.turn = latest < 0 ? 0 : last.turn + 1;
  next.bytes = TW_LEARNER_STATES_BYTES;
  next.states_sum = ~sum;
  next.header_sum = sum_of_header(&next);
  return TW_LEARNER_WRITE(to, (const unsigned char *)&next, sizeof next) != 0 ? TW_LEARNER_NOT_WRITTEN : 0;
}

int TW_LEARNER_FUNCTION(load)(const void *buffer) {
  header found = {0};
  const int slot = latest_slot(buffer, &found);
  if (slot < 0) return slot;
  const unsigned char *from = slot_at(buffer, slot) + sizeof found;
  for (uint32_t i = 0; i < TW_LEARNER_STATES; i++) {
    memcpy(memory_at(states[i].offset), from, states[i].bytes);
    from += states[i].bytes;
  }
  begin_accumulation();
  return 0;
}
