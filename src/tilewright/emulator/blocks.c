/* Counts what an emulated core executes. The emulator calls tw_block_entered at the start of every basic block; what a
 * block costs is asked once, when it is first seen. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct {
  uint32_t instructions, cycles;
  uint32_t leaving; /* cycles more where the core goes on elsewhere than behind the block */
} tw_block_cost;

typedef struct {
  uint64_t executed;
  uint32_t address, bytes;
  tw_block_cost cost;
  uint32_t noted; /* whether entering it is an event */
  uint32_t known;
} tw_block;

typedef struct {
  uint64_t instructions, cycles;
  uint32_t address, pad;
} tw_block_event;

typedef void (*tw_cost_of)(uint32_t address, uint32_t bytes, tw_block_cost *cost);
typedef int (*tw_asks)(void);
typedef int (*tw_stop)(void *emulator);

typedef struct {
  tw_block *table;
  uint32_t capacity, used;
  tw_block_event *events;
  uint32_t event_capacity, event_count;
  uint64_t instructions, cycles, limit;
  uint32_t behind, leaving; /* of the block before */
  uint32_t until_asking;
  tw_cost_of cost_of;
  tw_asks asks; /* whether to stop; asked now and then */
  tw_stop stop;
  uint32_t *places; /* addresses whose entering is an event */
  uint32_t place_count;
} tw_counter;

enum { FIRST_CAPACITY = 1 << 12, ASKING_INTERVAL = 1 << 20 };

static uint32_t slot_of(const tw_counter *counter, uint32_t address, uint32_t bytes) {
  uint32_t at = (address * 2654435761u ^ bytes * 40503u) >> 4;
  for (;; at++) {
    const tw_block *found = &counter->table[at & (counter->capacity - 1)];
    if (!found->known || (found->address == address && found->bytes == bytes)) return at & (counter->capacity - 1);
  }
}

static void grow(tw_counter *counter) {
  tw_block *old = counter->table;
  const uint32_t count = counter->capacity;
  counter->capacity = count * 2;
  counter->table = calloc(counter->capacity, sizeof *counter->table);
  if (counter->table == NULL) abort();
  for (uint32_t i = 0; i < count; i++)
    if (old[i].known) counter->table[slot_of(counter, old[i].address, old[i].bytes)] = old[i];
  free(old);
}

static uint32_t is_noted(const tw_counter *counter, uint32_t address) {
  for (uint32_t i = 0; i < counter->place_count; i++)
    if (counter->places[i] == address) return 1;
  return 0;
}

static tw_block *first_seen(tw_counter *counter, uint32_t address, uint32_t bytes) {
  if (++counter->used * 2 > counter->capacity) grow(counter);
  tw_block *block = &counter->table[slot_of(counter, address, bytes)];
  block->address = address, block->bytes = bytes, block->known = 1;
  block->noted = is_noted(counter, address);
  counter->cost_of(address, bytes, &block->cost);
  return block;
}

static void note(tw_counter *counter, uint32_t address) {
  if (counter->event_count == counter->event_capacity) {
    counter->event_capacity = counter->event_capacity ? counter->event_capacity * 2 : 256;
    counter->events = realloc(counter->events, counter->event_capacity * sizeof *counter->events);
    if (counter->events == NULL) abort();
  }
  counter->events[counter->event_count++] =
      (tw_block_event){counter->instructions, counter->cycles, address, 0};
}

EXPORTED void tw_block_entered(void *emulator, uint64_t place, uint32_t bytes, void *data) {
  tw_counter *counter = data;
  const uint32_t address = (uint32_t)place;
  tw_block *block = &counter->table[slot_of(counter, address, bytes)];
  if (!block->known) block = first_seen(counter, address, bytes);
  if (address != counter->behind) counter->cycles += counter->leaving;
  if (block->noted) note(counter, address);
  block->executed++;
  counter->instructions += block->cost.instructions;
  counter->cycles += block->cost.cycles;
  counter->behind = address + bytes;
  counter->leaving = block->cost.leaving;
  if (counter->cycles > counter->limit) counter->stop(emulator);
  if (--counter->until_asking == 0) {
    counter->until_asking = ASKING_INTERVAL;
    if (counter->asks()) counter->stop(emulator);
  }
}

EXPORTED tw_counter *tw_counter_new(tw_cost_of cost_of, tw_asks asks, tw_stop stop) {
  tw_counter *counter = calloc(1, sizeof *counter);
  if (counter == NULL) abort();
  counter->capacity = FIRST_CAPACITY;
  counter->table = calloc(counter->capacity, sizeof *counter->table);
  if (counter->table == NULL) abort();
  counter->cost_of = cost_of, counter->asks = asks, counter->stop = stop;
  counter->until_asking = ASKING_INTERVAL, counter->limit = UINT64_MAX;
  return counter;
}

EXPORTED void tw_counter_delete(tw_counter *counter) {
  free(counter->table);
  free(counter->events);
  free(counter->places);
  free(counter);
}

EXPORTED void tw_counter_note(tw_counter *counter, const uint32_t *places, uint32_t count) {
  counter->places = realloc(counter->places, (count + 1) * sizeof *places);
  if (counter->places == NULL) abort();
  for (uint32_t i = 0; i < count; i++) counter->places[i] = places[i];
  counter->place_count = count;
  for (uint32_t i = 0; i < counter->capacity; i++)
    if (counter->table[i].known) counter->table[i].noted = is_noted(counter, counter->table[i].address);
}

EXPORTED void tw_counter_limit(tw_counter *counter, uint64_t cycles) { counter->limit = cycles; }

EXPORTED uint64_t tw_counter_cycles(const tw_counter *counter) { return counter->cycles; }
EXPORTED uint64_t tw_counter_instructions(const tw_counter *counter) { return counter->instructions; }

EXPORTED const tw_block_event *tw_counter_events(const tw_counter *counter, uint32_t *count) {
  *count = counter->event_count;
  return counter->events;
}

EXPORTED uint32_t tw_counter_blocks(const tw_counter *counter, tw_block *blocks, uint32_t count) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < counter->capacity; i++) {
    if (!counter->table[i].known) continue;
    if (found < count) blocks[found] = counter->table[i];
    found++;
  }
  return found;
}
