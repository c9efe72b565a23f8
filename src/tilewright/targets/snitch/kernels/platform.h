/* Where the devices of the cluster are. Assembly reads this too. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#define TW_CONTROL 0x10020000
#define TW_WAKE (TW_CONTROL + 0x180) /* a bit for each core */
#define TW_WAKE_END (TW_CONTROL + 0x188)
#define TW_WAKE_LINE 19 /* of a core's interrupts */
#define TW_BARRIER 0x7c2 /* a CSR whose read waits for all cores of the cluster */
#define TW_STREAMS 0x7c0 /* a CSR: whether ft0 to ft2 are streams */

#endif
