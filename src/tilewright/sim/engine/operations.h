/* What a slot of code may do that is no instruction: numbers that all kinds of cores have. */
#ifndef TW_OPERATIONS_H
#define TW_OPERATIONS_H
#include "engine/base.h"

enum { OP_DECODE, OP_DECODE_JUMP, OP_LINE, OP_LOOP, OP_PROBE, OP_NEXT_PAGE, OP_ILLEGAL, OP_UNMAPPED, OP_FIRST };
#endif
