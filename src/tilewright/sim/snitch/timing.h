/* Every timing constant of Snitch cores. Sources: [s01] ... = calibration program that measures it; [HW n] = what the hardware
 * would have, where the reference differs and is followed. Numbers are cycles. */
#ifndef TW_SNITCH_TIMING_H
#define TW_SNITCH_TIMING_H

enum {
    SNITCH_LINE_BYTES = 32,     /* of instruction caches */
    SNITCH_REFILL = 3,          /* [s10] a line from the memory below */
    SNITCH_JUMP = 2,            /* [s01] jal, jalr */
    SNITCH_MULTIPLY = 5,        /* [s01] mul and its kin, blocking */
    SNITCH_LOAD_USE = 3,        /* [s01] from a load to the first use of its result, at least */
    SNITCH_LOAD_RETURN = 2,     /* [s01] ... beyond latency and waits */
    SNITCH_WAKE = 1,            /* [s07] from the last arrival, or the store to the CLINT, to the next instruction */

    FPU_QUEUE = 16,             /* entries between the integer core and the floating-point unit; also the longest body of frep */
    FPU_HAND_OVER = 1,          /* [s02] from the integer core to the head of the queue */
    FPU_ARITHMETIC = 4,         /* [s02] sums, products and fused ones; one may begin each cycle */
    FPU_PICK = 2,               /* [s02] sign injection, minimum, maximum: nothing else begins meanwhile */
    FPU_DIVIDE = 12,            /* [s02] quotients and roots, likewise */
    FPU_PACK = 3,               /* [s11] vfcpka; one may begin each cycle */
    FPU_CONVERT = 4,            /* [s02] between single and double: result */
    FPU_LOAD_USE = 3,           /* [s12 plain] */
    FPU_TO_INTEGER = 3,         /* [s02] to the first use by the integer core */
    FPU_FIRST_BYPASS = 3,       /* [s02] cycles of an instruction past the queue; those that follow at once take one each */

    STREAM_MOVERS = 3, STREAM_FIFO = 4, STREAM_LOOPS = 4, STREAM_ELEMENT = 8,
    STREAM_HIDDEN_WAIT = 1,     /* [s17 stream_in] cycles of a bank's wait that are not noticed, as with a load [s17 chase_l1l1] */

    XDMA_BYTES = 64,            /* of an access, one each cycle */
    XDMA_PAGE = 4096,           /* bursts do not cross these on the outer side */
    XDMA_SET_UP = 2,            /* [s08] from the start to the first burst; one more each cycle */
    XDMA_WRITE = 1,             /* [s17] from the read of some bytes to their write */
    XDMA_LAST = 1,              /* [s08] from the last write to the end of a transfer */
    XDMA_BURSTS = 8,            /* unfinished ones */
    XDMA_QUEUE = 8,             /* transfers that wait */
    XDMA_READ_WAIT = 2,         /* [s08] times that a burst from outside waits for those before it; 1 would be nearer to hardware */
    XDMA_FIRST_WRITE = 1,       /* [s17 fixed] cycles that the first write of a burst keeps its banks beyond one; fitted */
};
#endif
