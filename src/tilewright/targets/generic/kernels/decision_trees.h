#ifndef TW_DECISION_TREES_H
#define TW_DECISION_TREES_H

#include "tw.h"

enum { TW_TREES_SUM, TW_TREES_MIN, TW_TREES_MAX };

/* x[samples, features], trees as tables of entries -> y[samples, targets]. */
typedef struct {
  int32_t samples;
  int32_t features;
  int32_t targets;
  int32_t trees;
  int32_t combining;
} tw_decision_trees_params;

#endif
