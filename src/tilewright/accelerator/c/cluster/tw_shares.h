/* Cores that requantise totals together: each has its share. */
#ifndef TW_SHARES_H
#define TW_SHARES_H

#include "cluster.h"

#endif
