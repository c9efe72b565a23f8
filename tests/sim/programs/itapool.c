/* Starts heads on ITAPool as Deeploy's driver does, and polls until all are done. */
#define R(offset) (*(volatile unsigned *)(0x40000040 + (offset)))
enum { INSTANCE = 0x30, START = 1, BUSY = 2, DONE = 4, SKIP_SOFTMAX = 16 };
unsigned heads = 1, S, E, P, from[4], to[4], record[4], seen_busy, seen_start;

int main(void) {
    for (unsigned i = 0; i < heads; i++) {
        unsigned at = INSTANCE * i;
        R(at + 4) = from[i], R(at + 8) = to[i], R(at + 0xc) = record[i];
        R(at + 0x10) = S, R(at + 0x14) = E, R(at + 0x18) = P;
    }
    for (unsigned i = 0; i < heads; i++) R(INSTANCE * i) = START | SKIP_SOFTMAX;
    seen_start = R(0) & START, seen_busy = R(0) & BUSY;
#ifdef FAULT
    FAULT;
#endif
    for (unsigned i = 0; i < heads; i++)
        while (!(R(INSTANCE * i) & DONE)) {}
    return (int)(R(0) & BUSY);
}
