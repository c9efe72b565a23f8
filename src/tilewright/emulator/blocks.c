/* Counts what an emulated core executes. The emulator calls tw_block_entered at the start of every basic block; what a
 * block costs is asked when it is first seen; and again every so many times where memories have it wait, as the same code
 * may read another one then. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct {
  uint32_t instructions, cycles;
  uint32_t leaving;              /* cycles more where the core goes on elsewhere than behind the block */
  uint32_t entered;              /* and where it comes from elsewhere than before it */
  uint32_t extra, extra_leaving; /* of a core whose cycles are not exactly known: at most so many more */
  uint32_t wait;                 /* cycles until a line of its code is there */
  uint32_t read_waits;           /* parts of cycles for what it reads from memories with wait states */
} tw_block_cost;

typedef struct {
  uint64_t executed;
  uint32_t address, bytes;
  tw_block_cost cost;
  uint32_t noted; /* whether entering it is an event */
  uint32_t known;
} tw_block;

/* What has been executed. Waits are not in the cycles. */
typedef struct {
  uint64_t instructions, cycles, extra, waits, read_waits;
} tw_total;

typedef struct {
  tw_total total;
  uint32_t address, pad;
} tw_block_event;

typedef void (*tw_cost_of)(uint32_t address, uint32_t bytes, tw_block_cost *cost);
typedef int (*tw_stop)(void *emulator);

enum { FIRST_CAPACITY = 1 << 12 };
enum { RUNNING, PAUSED, ARRIVED };

typedef struct {
  tw_block *table;
  uint32_t capacity, used;
  tw_block_event *events;
  uint32_t event_capacity, event_count;
  tw_total total;
  uint64_t pause; /* instructions after which the emulator gives the control back */
  uint32_t stop_at; /* and the place at which it does; being there already does not count */
  uint32_t is_there;
  uint32_t paused;
  uint32_t behind, leaving, extra_leaving; /* of the block before */
  uint32_t line_bytes, prefetches;         /* of the memory of code */
  uint32_t line;                           /* the last one of code that was executed */
  uint32_t *cache;                         /* of lines of code, each in its one place; how many */
  uint32_t cache_lines;
  uint32_t asked_every; /* so many times that a block is executed; 0: once */
  tw_cost_of cost_of;
  tw_stop stop;
  uint32_t *places; /* addresses whose entering is an event */
  uint32_t place_count;
} tw_counter;

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
  counter->events[counter->event_count++] = (tw_block_event){counter->total, address, 0};
}

static int is_cached(tw_counter *counter, uint32_t line) {
  if (counter->cache_lines == 0) return 0;
  uint32_t *place = &counter->cache[line % counter->cache_lines];
  const int found = *place == line;
  *place = line;
  return found;
}

/* A line that follows the one before has been read ahead, where the memory does that. */
static void fetch(tw_counter *counter, const tw_block *block) {
  const uint32_t last = (block->address + block->bytes - 1) / counter->line_bytes;
  for (uint32_t line = block->address / counter->line_bytes; line <= last; line++) {
    if (line == counter->line) continue;
    const int is_ahead = counter->prefetches && line == counter->line + 1;
    if (!is_cached(counter, line) && !is_ahead) counter->total.waits += block->cost.wait;
    counter->line = line;
  }
}

static void jumped(tw_counter *counter, const tw_block *block) {
  counter->total.cycles += counter->leaving + block->cost.entered;
  counter->total.extra += counter->extra_leaving;
}

EXPORTED void tw_block_entered(void *emulator, uint64_t place, uint32_t bytes, void *data) {
  tw_counter *counter = data;
  const uint32_t address = (uint32_t)place;
  const int has_arrived = address == counter->stop_at && !counter->is_there;
  if (has_arrived || counter->total.instructions >= counter->pause) {
    /* The block is not executed now, but entered again when the emulator goes on. */
    counter->paused = has_arrived ? ARRIVED : PAUSED;
    counter->stop(emulator);
    return;
  }
  counter->is_there = 0;
  tw_block *block = &counter->table[slot_of(counter, address, bytes)];
  if (!block->known) block = first_seen(counter, address, bytes);
  else if (counter->asked_every && block->executed % counter->asked_every == 0)
    counter->cost_of(address, bytes, &block->cost);
  if (address != counter->behind) jumped(counter, block);
  if (block->noted) note(counter, address);
  block->executed++;
  counter->total.instructions += block->cost.instructions;
  counter->total.cycles += block->cost.cycles;
  counter->total.extra += block->cost.extra;
  if (block->cost.wait) fetch(counter, block);
  counter->total.read_waits += block->cost.read_waits;
  counter->behind = address + bytes;
  counter->leaving = block->cost.leaving;
  counter->extra_leaving = block->cost.extra_leaving;
}

EXPORTED tw_counter *tw_counter_new(tw_cost_of cost_of, tw_stop stop, uint32_t line_bytes, uint32_t prefetches,
                                    uint32_t cache_lines, uint32_t asked_every) {
  tw_counter *counter = calloc(1, sizeof *counter);
  if (counter == NULL) abort();
  counter->capacity = FIRST_CAPACITY;
  counter->table = calloc(counter->capacity, sizeof *counter->table);
  if (counter->table == NULL) abort();
  counter->cache = calloc(cache_lines + 1, sizeof *counter->cache);
  if (counter->cache == NULL) abort();
  counter->cost_of = cost_of, counter->stop = stop;
  counter->line_bytes = line_bytes, counter->prefetches = prefetches, counter->cache_lines = cache_lines;
  counter->asked_every = asked_every;
  counter->pause = UINT64_MAX;
  return counter;
}

EXPORTED void tw_counter_delete(tw_counter *counter) {
  free(counter->table);
  free(counter->events);
  free(counter->places);
  free(counter->cache);
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

EXPORTED void tw_counter_pause(tw_counter *counter, uint64_t instructions) {
  counter->pause = instructions, counter->paused = RUNNING;
}
EXPORTED void tw_counter_stop_at(tw_counter *counter, uint32_t address, uint32_t is_there) {
  counter->stop_at = address, counter->is_there = is_there, counter->paused = RUNNING;
}
EXPORTED uint32_t tw_counter_paused(const tw_counter *counter) { return counter->paused; }

EXPORTED void tw_counter_total(const tw_counter *counter, tw_total *total) { *total = counter->total; }

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
