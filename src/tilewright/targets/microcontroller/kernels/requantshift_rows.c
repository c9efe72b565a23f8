/* y = clamp(round((x * mul + add) / 2^shift)), per tensor or per channel, by the shortest way. */
#include "requantshift.h"
#include "tw.h"

#ifndef TW_NAME
#define TW_NAME tw_requantshift_rows
#define TW_X int32_t
#define TW_Y int8_t
#endif

#include "requant_row.h"

/* Rows of one channel, or of channels that are neighbours, by a way that is constant here. */
TW_ALWAYS void rows(tw_way way, const tw_requantshift_params *p, const TW_X *x, const int32_t *mul, const int32_t *add,
                    TW_Y *y) {
  const tw_requant requant = p->requant;
  for (int32_t o = 0; o < p->outer; o++) {
    for (int32_t c = 0; c < requant.channels; c++) {
      const tw_factor f = tw_factor_of(way, &requant, mul[c], add[c]);
      for (const TW_X *const end = x + p->inner; x != end;) {
        const int32_t total = (int32_t)*x++;
        if (way == TW_ANY_WAY) {
          *y++ = (TW_Y)tw_requantise(&requant, total, f.mul, f.add);
        } else {
          tw_requantise_by(way, &requant, &f, &total, y++, 1);
        }
      }
    }
  }
}

void TW_NAME(const tw_requantshift_params *params, const TW_X *x, const int32_t *mul, const int32_t *add, TW_Y *y) {
  const tw_way way = tw_way_of(1, &params->requant, add, 1, params->requant.channels, 0);
  if (way == TW_NEAR) {
    rows(TW_NEAR, params, x, mul, add, y);
  } else {
    rows(TW_ANY_WAY, params, x, mul, add, y);
  }
}
