/* Where the devices of quad are. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#define TW_EVENT_UNIT 0x30000000 /* a core's own view */
#define TW_DMA 0x30001000        /* a core's own port */
#define TW_EXIT 0x400000a0
#define TW_STDOUT 0x40001000

#endif
