/* Sums over rows of channels, all cores together: each core sums up rows of its own, then all totals of some channels. A
 * kernel includes this after it has said what it sums up:
 *   void four_totals(const operands *k, int32_t c, tw_share rows, float *total)    of channels c to c + 3
 *   float one_total(const operands *k, int32_t c, tw_share rows) */
#ifndef TW_CHANNEL_SUMS_ROWS_H
#define TW_CHANNEL_SUMS_ROWS_H

static inline void tw_channel_sums(const operands *k, float *y, float *totals) {
  const int32_t channels = k->channels;
  const tw_share rows = tw_share_of(k->rows);
  float *const own = totals + tw_core() * channels;
  int32_t c = 0;
  for (; c + 4 <= channels; c += 4) four_totals(k, c, rows, own + c);
  for (; c < channels; c++) own[c] = one_total(k, c, rows);
  tw_barrier();
  for (c = tw_core(); c < channels; c += TW_CORES) {
    float total = totals[c];
    for (int32_t core = 1; core < TW_CORES; core++) total += totals[core * channels + c];
    y[c] = total;
  }
}

#endif
