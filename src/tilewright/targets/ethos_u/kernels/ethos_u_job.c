/* A part of a network on the NPU: inputs into the stream's arena and one job; when it has ended, results out of it. */
#include "bytes.h"
#ifdef TW_ETHOS_U_CORE_DRIVER
#include "ethos_u_core_driver.h"
#else
#include "ethos_u_driver.h"
#endif
#include "ethos_u_job.h"

#ifndef TW_NAME
#define TW_NAME tw_ethos_u_job
#define TW_FINISH tw_ethos_u_job_finish
#define TW_X int8_t
#define TW_Y int8_t
#endif

/* Arenas have lines of a cache for themselves: the core may write beside them while the NPU works. */
#define TW_ETHOS_U_ALIGNED(bytes) (((bytes) + 31) / 32 * 32)

static inline unsigned char *tw_ethos_u_arena(void *scratch) {
  return (unsigned char *)TW_ETHOS_U_ALIGNED((uintptr_t)scratch);
}

void TW_NAME(const tw_ethos_u_job_params *params, const int32_t *stream, const uint8_t *weights, const TW_X *const *x,
             TW_Y *y, void *scratch) {
  unsigned char *arena = tw_ethos_u_arena(scratch);
  (void)y;
  unsigned char *fast = params->fast ? arena + TW_ETHOS_U_ALIGNED(params->arena) : arena;
  for (int32_t i = 0; i < params->inputs; i++)
    memcpy(arena + params->input_at[i], x[i], (size_t)params->input_bytes[i]);
  const void *const regions[] = {weights, arena, fast};
#ifdef TW_ETHOS_U_CORE_DRIVER
  const uint32_t arena_bytes = (uint32_t)params->arena, fast_bytes = (uint32_t)params->fast;
  const uint32_t sizes[] = {(uint32_t)params->constants, arena_bytes, fast_bytes ? fast_bytes : arena_bytes};
  tw_ethos_u_regions(0, regions, sizes, 3);
  for (int32_t i = 0; i < params->banks; i++) {
    const void *const bank = x[params->inputs + i];
    const uint32_t bytes = (uint32_t)params->bank_bytes[i];
    tw_ethos_u_regions((uint32_t)(3 + i), &bank, &bytes, 1);
  }
  tw_ethos_u_begin(stream, (uint32_t)params->words * 4, (uint32_t)(3 + params->banks));
#else
  tw_ethos_u_ready();
  tw_ethos_u_regions(0, regions, 3);
  for (int32_t i = 0; i < params->banks; i++) {
    const void *const bank = x[params->inputs + i];
    tw_ethos_u_regions((uint32_t)(3 + i), &bank, 1);
  }
  tw_ethos_u_start(stream + params->first, (uint32_t)(params->words - params->first) * 4);
#endif
}

void TW_FINISH(const tw_ethos_u_job_params *params, const int32_t *stream, const uint8_t *weights,
               const TW_X *const *x, TW_Y *y, void *scratch) {
  const unsigned char *arena = tw_ethos_u_arena(scratch);
  unsigned char *results = (unsigned char *)y;
  (void)stream, (void)weights, (void)x;
  tw_ethos_u_end();
  for (int32_t i = 0; i < params->results; i++) {
    memcpy(results, arena + params->result_at[i], (size_t)params->result_bytes[i]);
    results += params->result_bytes[i];
  }
}
