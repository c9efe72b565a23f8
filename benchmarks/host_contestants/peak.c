/* The most multiply-accumulates per second that a machine does in registers: peak THREADS
 * Prints those of floats and those of bytes, of all threads together, each a line. */
#define _POSIX_C_SOURCE 199309L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

enum { CHAINS = 12, TURNS = 1 << 16, LANES = TW_VECTOR_BYTES / 4, MOST = 64 };
static const double SECONDS = 0.3;

typedef float floats __attribute__((vector_size(TW_VECTOR_BYTES)));
typedef int32_t sums __attribute__((vector_size(TW_VECTOR_BYTES)));

/* As an operand of assembly, a vector may have any value afterwards. */
#if defined(__aarch64__)
#define KEEP(VECTOR) "+w"(VECTOR)
#elif defined(__AVX512F__)
#define KEEP(VECTOR) "+v"(VECTOR)
#else
#define KEEP(VECTOR) "+x"(VECTOR)
#endif

static volatile float float_sink;
static volatile int32_t byte_sink;

/* Chains are variables of their own: an array would be kept in memory. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

#if defined(__aarch64__)
static floats fused(floats total, floats a, floats b) {
  return (floats)vfmaq_f32((float32x4_t)total, (float32x4_t)a, (float32x4_t)b);
}
#elif defined(__AVX512F__)
static floats fused(floats total, floats a, floats b) {
  return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)total);
}
#elif defined(__AVX2__)
static floats fused(floats total, floats a, floats b) {
  return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)total);
}
#else
static floats fused(floats total, floats a, floats b) { return total + a * b; }
#endif

static double multiply_floats(void) {
  floats a = {0}, b = {0};
  for (int i = 0; i < LANES; i++) a[i] = 0.5f, b[i] = 1e-3f;
#define BEGIN(N) floats sum##N = a * (float)(N + 1);
#define STEP(N) sum##N = fused(sum##N, a, b);
#define END(N) float_sink = sum##N[0];
  EACH(BEGIN)
  for (int turn = 0; turn < TURNS; turn++) {
    EACH(STEP)
    __asm__ volatile("" : KEEP(a), KEEP(b));
  }
  EACH(END)
#undef BEGIN
#undef STEP
#undef END
  return (double)TURNS * CHAINS * LANES;
}

#if defined(__ARM_FEATURE_DOTPROD)
static sums dots(sums total, sums a, sums b) { return (sums)vdotq_s32((int32x4_t)total, (int8x16_t)a, (int8x16_t)b); }
#elif defined(__AVX512VNNI__)
static sums dots(sums total, sums a, sums b) {
  return (sums)_mm512_dpbusd_epi32((__m512i)total, (__m512i)a, (__m512i)b);
}
#elif defined(__AVX512BW__)
static sums dots(sums total, sums a, sums b) {
  const __m512i pairs = _mm512_maddubs_epi16((__m512i)a, (__m512i)b);
  return total + (sums)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
#elif defined(__AVX2__)
static sums dots(sums total, sums a, sums b) {
  const __m256i pairs = _mm256_maddubs_epi16((__m256i)a, (__m256i)b);
  return total + (sums)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#else
/* Without such an instruction: as many as of 16 bits. */
static sums dots(sums total, sums a, sums b) { return total + a * b; }
#endif

static double multiply_bytes(void) {
  sums a = {0}, b = {0};
  for (int i = 0; i < LANES; i++) a[i] = 0x01020304 + i, b[i] = 0x04030201 - i;
#define BEGIN(N) sums sum##N = a + N;
#define STEP(N) sum##N = dots(sum##N, a, b);
#define END(N) byte_sink = sum##N[0];
  EACH(BEGIN)
  for (int turn = 0; turn < TURNS; turn++) {
    EACH(STEP)
    __asm__ volatile("" : KEEP(a), KEEP(b));
  }
  EACH(END)
  return (double)TURNS * CHAINS * TW_VECTOR_BYTES;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct {
  double (*work)(void);
  double rate;
} job;

/* The best of many short turns: others may disturb some. */
static void *measure(void *of) {
  job *const mine = of;
  const double end = now() + SECONDS;
  while (now() < end) {
    const double start = now(), done = mine->work(), rate = done / (now() - start);
    if (rate > mine->rate) mine->rate = rate;
  }
  return 0;
}

static double rate(double (*work)(void), int threads) {
  job jobs[MOST] = {{0}};
  pthread_t others[MOST];
  double sum = 0;
  for (int i = 0; i < threads; i++) {
    jobs[i].work = work;
    if (pthread_create(&others[i], 0, measure, &jobs[i]) != 0) exit(1);
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(others[i], 0);
    sum += jobs[i].rate;
  }
  return sum;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > MOST) return 1;
  printf("%.0f\n%.0f\n", rate(multiply_floats, threads), rate(multiply_bytes, threads));
  return 0;
}
