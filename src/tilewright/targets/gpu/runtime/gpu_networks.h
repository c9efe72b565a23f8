/* Networks on a device: constants, once for all networks that have the same, and arenas, of which each has a list.
 * Needs on_device and on_device_arena, and of the runtime that includes this
 *   with_constants()                a network's constants on the device, or NULL,
 *   allocate_arena(made)            whether the device has memory for an arena,
 *   close_network(), close_arena()  which give back what these have,
 *   put(), get(), settled()         copies between an arena and this machine, and whether they have ended well,
 *   enter(), leave()                between which a thread owns the device. */
#ifndef TW_GPU_NETWORKS_H
#define TW_GPU_NETWORKS_H

#include "gpu_calls.h"

static on_device *own;
static on_device_arena *state;

static on_device *with_constants(void);
static int allocate_arena(on_device_arena *made);
static void close_network(on_device *made);
static void close_arena(on_device_arena *made);
static int put(const on_device_arena *to, unsigned long offset, const void *from, unsigned long bytes,
               const char *what);
static int get(const on_device_arena *from, unsigned long offset, void *to, unsigned long bytes, const char *what);
static int settled(const char *what);
static int enter(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given);
static int leave(void);

/* ---- what a call finds ---- */

/* States are zero before the first call. */
static int cleared(const on_device_arena *made) {
  static const unsigned char zeros[1 << 16];
  for (int32_t i = 0; i < network->kept_count; i++) {
    const tw_gpu_kept one = network->kept[i];
    for (unsigned long at = 0; at < one.bytes; at += sizeof zeros) {
      const unsigned long left = one.bytes - at, bytes = left < sizeof zeros ? left : sizeof zeros;
      if (!put(made, one.offset + at, zeros, bytes, "clear a state")) return 0;
    }
  }
  return settled("clear a state");
}

static on_device_arena *opened_arena(const unsigned char *owner) {
  on_device_arena *const made = calloc(1, sizeof *made);
  if (!made) return no_room_here(), NULL;
  made->owner = owner;
  if (!allocate_arena(made) || !cleared(made)) {
    close_arena(made);
    return NULL;
  }
  made->next = own->arenas;
  return own->arenas = made;
}

static on_device *opened_network(void) {
  on_device *const made = with_constants();
  if (!made) return NULL;
  made->weights = weights;
  made->next = network->memory->state;
  return network->memory->state = made;
}

static on_device_arena *found_arena(void) {
  const unsigned char *const owner = network->kept_count ? arena : NULL;
  on_device_arena *found = own->arenas;
  while (found && found->owner != owner) found = found->next;
  return found ? found : opened_arena(owner);
}

static on_device *found_network(void) {
  on_device *found = memory->state;
  while (found && found->weights != weights) found = found->next;
  return found ? found : opened_network();
}

static void prepare_call(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  network = called;
  memory = called->memory;
  arena = host_arena;
  weights = given;
  own = NULL;
  state = NULL;
}

/* Whether the device has what the call needs. */
static int find_memory(void) {
  own = found_network();
  if (own) state = found_arena();
  return !failed;
}

/* What layers of the processor find where a copy has failed: zeros, which are places in every array. */
static void clear_if_failed(void *to, unsigned long bytes) {
  if (failed && is_in_arena(to)) memset(to, 0, bytes);
}

/* ---- for the caller ---- */

int tw_gpu_has_failed(void) { return failed; }

int tw_gpu_begin(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  return enter(called, host_arena, given) ? 0 : leave();
}

int tw_gpu_fetch(const tw_gpu_network *called, unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count && !failed; i++) {
      const tw_gpu_kept one = network->kept[i];
      if (one.bytes) get(state, one.offset, host_arena + one.offset, one.bytes, "copy a state");
    }
    if (!failed) settled("copy a state");
  }
  return leave();
}

int tw_gpu_keep(const tw_gpu_network *called, const unsigned char *host_arena, const unsigned char *given) {
  if (enter(called, host_arena, given)) {
    for (int32_t i = 0; i < network->kept_count && !failed; i++) {
      const tw_gpu_kept one = network->kept[i];
      if (one.bytes) put(state, one.offset, arena + one.offset, one.bytes, "copy a state");
    }
    if (!failed) settled("copy a state");
  }
  return leave();
}

/* ---- what is given back ---- */

/* Removes an arena from a memory's list. */
static on_device_arena *removed_arena(const tw_gpu_memory *from, const unsigned char *owner) {
  for (on_device *made = from->state; made; made = made->next) {
    on_device_arena **at = &made->arenas;
    while (*at && (*at)->owner != owner) at = &(*at)->next;
    if (*at) {
      on_device_arena *const found = *at;
      *at = found->next;
      return found;
    }
  }
  return NULL;
}

static void forget_network(tw_gpu_memory *from, const unsigned char *given) {
  on_device *last = NULL, *found = from->state;
  while (found && found->weights != given) {
    last = found;
    found = found->next;
  }
  if (!found) return;
  if (last) last->next = found->next;
  else from->state = found->next;
  close_network(found);
}

/* A caller's arena, or a network. */
static void forget(tw_gpu_memory *from, const unsigned char *host_arena, const unsigned char *given) {
  on_device_arena *const found = host_arena ? removed_arena(from, host_arena) : NULL;
  if (found) close_arena(found);
  if (!host_arena) forget_network(from, given);
}

static void close_arenas(on_device *made) {
  while (made->arenas) {
    on_device_arena *const first = made->arenas;
    made->arenas = first->next;
    close_arena(first);
  }
}

#endif
