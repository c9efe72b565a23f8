/* The end of a kernel bench's main.c, behind its table `entries`: calls the case that was asked for, cold and warm. */
#ifndef TW_BENCH_CALLS_H
#define TW_BENCH_CALLS_H

volatile uint32_t tw_case;
volatile uint32_t tw_cycles_cold, tw_cycles_warm;
void tw_bench(uint32_t core);

static void open_barriers(void) {
#ifdef TW_EVENT_UNIT
  volatile uint32_t *const unit = (uint32_t *)TW_EVENT_UNIT;
  unit[0x200 / 4] = unit[0x20c / 4] = (1u << TW_CORES) - 1;
#endif
}

#if !TW_BENCH_ON_CLUSTER
static void tw_barrier(void) {}
#endif

#if TW_BENCH_OFFLOADS
void tw_accelerator_init(void);
uint32_t tw_accelerator_mark(void);
void tw_accelerator_wait(uint32_t mark);
static void before_all(void) { tw_accelerator_init(); }
static void wait_for_jobs(void) { tw_accelerator_wait(tw_accelerator_mark()); }
#else
static void before_all(void) {}
static void wait_for_jobs(void) {}
#endif

static __attribute__((noinline)) uint32_t one_call(const entry *e, uint32_t core) {
  /* Read before the clock starts: the table may lie in a slow memory. */
  void (*const call)(void) = e->call, (*const gather)(void) = e->gather, (*const finish)(void) = e->finish;
  const int takes_part = core == 0 || e->cooperative;
  tw_barrier();
  const uint32_t start = tw_bench_now();
  if (gather) {
    gather();
    tw_barrier();
  }
  if (takes_part) call();
  if (core == 0) wait_for_jobs();
  tw_barrier();
  if (finish) {
    finish();
    tw_barrier();
  }
  return tw_bench_now() - start;
}

void tw_bench(uint32_t core) {
  if (core == 0) {
    open_barriers();
    memcpy(entries[tw_case].place, entries[tw_case].params, entries[tw_case].bytes);
    before_all();
  }
  tw_barrier();
  const uint32_t cold = one_call(&entries[tw_case], core);
  const uint32_t warm = one_call(&entries[tw_case], core);
  if (core == 0) {
    tw_cycles_cold = cold;
    tw_cycles_warm = warm;
    tw_bench_end();
  }
  for (;;) __asm__ volatile("wfi");
}

#endif
