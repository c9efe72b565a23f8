/* Kinds of cores: numbers as in platform.py (Flavour), and what their folders give. */
#ifndef TW_KINDS_H
#define TW_KINDS_H
#include "engine/sim.h"

enum { FLAVOUR_XPULPV2, FLAVOUR_COREV, FLAVOUR_THUMB, FLAVOUR_SNITCH, FLAVOUR_MEMPOOL };

extern const core_kind RI5CY_CORE, CV32E40P_CORE, SNITCH_CORE, MEMPOOL_CORE;
#endif
