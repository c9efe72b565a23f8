/* How totals of bytes become results. */
#ifndef TW_DOT_WAYS_H
#define TW_DOT_WAYS_H

/* How totals become bytes.
 * TW_ANY_WAY: by tw_requantise, one by one. TW_HIGH_WAY: the product in 31 bits fewer, rounded down, then shifted and
 * rounded once, ties up. TW_NEAR_WAY: the same, and 16 bits hold all results. TW_DOUBLE_WAY, TW_DOUBLE_UP_WAY: as
 * TW_DOUBLE and TW_DOUBLE_UP. TW_FLOAT_WAY: as TW_FLOAT. TW_NEAR_DOUBLE_WAY, TW_NEAR_DOUBLE_UP_WAY: as TW_DOUBLE and
 * TW_DOUBLE_UP with exponents below zero (or zero, ties up), 31 bits hold what is shifted and 16 bits all results. */
typedef enum {
  TW_ANY_WAY,
  TW_NEAR_WAY,
  TW_HIGH_WAY,
  TW_DOUBLE_WAY,
  TW_DOUBLE_UP_WAY,
  TW_FLOAT_WAY,
  TW_NEAR_DOUBLE_WAY,
  TW_NEAR_DOUBLE_UP_WAY
} tw_way;

/* Whether 16 bits hold all results. */
#define TW_IS_NEAR(way) ((way) == TW_NEAR_WAY || (way) >= TW_NEAR_DOUBLE_WAY)

#endif
