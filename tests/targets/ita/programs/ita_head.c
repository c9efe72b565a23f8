/* An attention head by the driver: everything lies in the TCDM, where the test has put it. */
#include "ita.h"
#include "machine.h"

uint32_t s GIVEN = 0, e GIVEN = 0, p GIVEN = 0, places[15] GIVEN = {0}, cycles GIVEN = 0;
tw_ita_layer layer GIVEN = {0};
static tw_ita ita;

static int8_t *at(uint32_t which) { return (int8_t *)(uintptr_t)(TW_ITA_MEMORY + places[which]); }
static const uint8_t *bias_at(uint32_t which) { return (const uint8_t *)at(which); }

int main(void) {
  enum { X, Y, WQ, WK, WV, WO, BQ, BK, BV, BO, Q, K, V, A, O };
  const tw_ita_matrices queries = {s, p, e, at(X), at(WQ), bias_at(BQ), at(Q), 0}, keys = {s, p, e, at(Y), at(WK), bias_at(BK), at(K), 0};
  const tw_ita_matrices values = {p, s, e, at(WV), at(Y), bias_at(BV), at(V), 1};
  const tw_ita_matrices scores = {s, s, p, at(Q), at(K), 0, at(A), 0}, mixed = {s, p, s, at(A), at(V), 0, at(O), 0};
  const tw_ita_matrices out = {s, e, p, at(O), at(WO), bias_at(BO), at(X), 0}; /* over the input, which nobody reads any more */
  tw_ita_clear();
  const uint32_t began = now();
  tw_ita_begin(&ita, &layer);
  tw_ita_product(&ita, &queries);
  tw_ita_product(&ita, &keys);
  tw_ita_product(&ita, &values);
  tw_ita_attention(&ita, &scores, &mixed);
  tw_ita_product(&ita, &out);
  tw_ita_end(&ita);
  tw_ita_wait(&ita, ita.jobs);
  cycles = now() - began;
  return 0;
}
