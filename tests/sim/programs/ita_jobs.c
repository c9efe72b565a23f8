/* Gives ITA the jobs that the test has put into `words`, as fast as it takes them. */
#define REG(address) (*(volatile unsigned *)(address))
enum { TCDM = 0x20000000, ENGINE = 0x10040000, BUSY = 0x100201a0, REGISTERS = 17, MOST_JOBS = 4096 };
#ifndef START
#define START 0
#endif
unsigned jobs, words[MOST_JOBS][REGISTERS];

int main(void) {
    REG(ENGINE + 0x14) = 0;
    for (volatile unsigned i = 0; i < 4; i++) {}
    for (unsigned job = 0; job < jobs; job++) {
        while ((int)REG(ENGINE + 4) < 0) {}
        for (unsigned i = 0; i < REGISTERS; i++) REG(ENGINE + 0x20 + 4 * i) = words[job][i];
#ifdef FAULT
        FAULT;
#endif
        REG(ENGINE) = START;
    }
    while (REG(BUSY)) {}
    return 0;
}

#ifdef NOISE
/* Reads words that lie where tiles begin. */
void helper(void) {
    for (unsigned i = 0;; i++) (void)REG(TCDM + i % 64 * 128);
}
#endif
