/* Convolutions by N-EUREKA with windows that the cores gather, and with weights in the weight memory. */
#ifndef TW_NAME
#define TW_NAME tw_neureka_resident_gathered
#define TW_GATHER tw_neureka_resident_gathered_gather
#define TW_X int8_t
#define TW_SCALE uint8_t
#define TW_Y int8_t
#endif

#include "neureka_gathered_call.h"
