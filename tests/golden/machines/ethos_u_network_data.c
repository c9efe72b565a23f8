/* Constants of pool. */
#include "network_data.h"

/* Where the linker puts the weights, for example __attribute__((section(".weights"))). */
#ifndef TILEWRIGHT_WEIGHTS
#define TILEWRIGHT_WEIGHTS
#endif

/* stream: int32 [60] */
TILEWRIGHT_WEIGHTS __attribute__((aligned(16))) const int32_t pool_stream[60] = {
    65807, 16384, 16, 16385, 0, 16386, 0, 16387, 0, 196874, 196875, 196876,
    16389, 32, 16388, 8, 16390, 1, 265, 65797, 459012, 65823, 16400, 160,
    16401, 0, 16402, 0, 16403, 0, 65818, 65819, 65820, 16405, 16, 16404,
    8, 16406, 1, 280, 65810, 65809, 459027, 65825, 65824, 196898, 256, 257,
    259, 258, 16843028, 263, 293, 983319, -8388314, 8323367, 147492, 1, 65541, -65536};

/* none: uint8 [16] */
TILEWRIGHT_WEIGHTS __attribute__((aligned(16))) const uint8_t pool_none[16] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
