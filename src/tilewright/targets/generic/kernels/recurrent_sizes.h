/* Working memory of recurrent cells of floats: h twice, and what each kind of cell has besides. */
#ifndef TW_RECURRENT_SIZES_H
#define TW_RECURRENT_SIZES_H

#include "recurrent.h"

static inline int64_t tw_rnn_scratch(const tw_recurrent_params *p) { return 4 * 2 * (int64_t)p->batch * p->hidden; }

/* c, the gates of one sequence, and the rounded state where there is one. */
static inline int64_t tw_lstm_scratch(const tw_recurrent_params *p) {
  return 4 * ((p->dynamic ? 4 : 3) * (int64_t)p->batch * p->hidden + 4 * (int64_t)p->hidden);
}

/* The gates of all sequences: the state is reset before it is multiplied. */
static inline int64_t tw_gru_scratch(const tw_recurrent_params *p) { return 4 * (2 + 3) * (int64_t)p->batch * p->hidden; }

#endif
