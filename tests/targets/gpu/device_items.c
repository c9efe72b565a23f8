/* A GPU of NVIDIA's for tests of one kernel: its items are threads of control of their own (contexts with stacks). A warp
 * goes on by itself until all of its items meet the others of the group, as far ahead of the others as it can get. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <ucontext.h>

enum { ITEMS = 128, WARP = 32, STACK_BYTES = 1 << 16 };

static ucontext_t contexts[ITEMS], scheduler;
static char stacks[ITEMS][STACK_BYTES];
static int item, group_at, group_count, is_meeting[ITEMS], has_ended[ITEMS];
static float lanes[ITEMS];
static void (*running)(void);

int __nvvm_read_ptx_sreg_tid_x(void) { return item; }
int __nvvm_read_ptx_sreg_ctaid_x(void) { return group_at; }
int __nvvm_read_ptx_sreg_ctaid_y(void) { return 0; }
int __nvvm_read_ptx_sreg_ctaid_z(void) { return 0; }
int __nvvm_read_ptx_sreg_nctaid_x(void) { return group_count; }

static void yield(void) { swapcontext(&contexts[item], &scheduler); }

void __syncthreads(void) {
  is_meeting[item] = 1;
  yield();
}

/* All items of a warp come here, and go on together. */
float tw_lane(float x, int apart) {
  lanes[item] = x;
  yield();
  const float other = lanes[item ^ apart];
  yield();
  return other;
}

static void run_item(void) {
  running();
  has_ended[item] = 1;
}

/* The items of a warp, step by step, until none can go on. */
static void run_warp(int warp) {
  for (int left = 1; left;) {
    left = 0;
    for (int i = warp * WARP; i < (warp + 1) * WARP; i++) {
      if (has_ended[i] || is_meeting[i]) continue;
      item = i;
      swapcontext(&scheduler, &contexts[i]);
      left = 1;
    }
  }
}

static int run_group(void) {
  for (int i = 0; i < ITEMS; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks[i];
    contexts[i].uc_stack.ss_size = STACK_BYTES;
    contexts[i].uc_link = &scheduler;
    has_ended[i] = is_meeting[i] = 0;
    makecontext(&contexts[i], run_item, 0);
  }
  for (int ended = 0, forth = 1; ended < ITEMS; forth = !forth) {
    for (int warp = 0; warp < ITEMS / WARP; warp++) run_warp(forth ? warp : ITEMS / WARP - 1 - warp);
    ended = 0;
    for (int i = 0; i < ITEMS; i++) {
      ended += has_ended[i];
      is_meeting[i] = 0;
    }
    if (ended && ended < ITEMS) return 1;
  }
  return 0;
}

/* Whether all groups do what they should: items that end while others wait for them do not. */
int tw_run_groups(void (*entry)(void), int groups) {
  running = entry;
  group_count = groups;
  for (group_at = 0; group_at < groups; group_at++) {
    if (run_group()) return 1;
  }
  return 0;
}
