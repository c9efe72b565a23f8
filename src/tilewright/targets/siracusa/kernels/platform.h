/* Where the devices of Siracusa are. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#define TW_EVENT_UNIT 0x10204000 /* a core's own view */
#define TW_DMA 0x10204400        /* a core's own port */
#define TW_CLUSTER_CONTROL 0x10200000
#define TW_INSTRUCTION_CACHE 0x10201400
#define TW_NPU 0x10201000
#define TW_WEIGHT_MEMORY 0x10400000 /* what weights of N-EUREKA are counted from */
#define TW_UDMA 0x1a102000
#define TW_EXIT 0x1a1040a0
#define TW_STDOUT 0x1a10f000

#endif
