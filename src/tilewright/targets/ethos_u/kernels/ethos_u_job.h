#ifndef TW_ETHOS_U_JOB_H
#define TW_ETHOS_U_JOB_H

#include "tw.h"

/* A payload of so many words, of which a stream is the last, the bytes of its constants and arenas, and where the first
 * arena has inputs and results. */
typedef struct {
  int32_t words;
  int32_t first; /* word of the stream; what is before it is for Arm's driver */
  int32_t constants;
  int32_t arena;
  int32_t fast; /* 0: it is the first */
  int32_t inputs;
  const int32_t *input_at;
  const int32_t *input_bytes;
  int32_t results;
  const int32_t *result_at;
  const int32_t *result_bytes;
  int32_t banks; /* constants that lie elsewhere: operands behind the inputs */
  const int32_t *bank_bytes;
} tw_ethos_u_job_params;

#endif
