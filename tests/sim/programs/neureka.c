/* Core 0 gives N-EUREKA the jobs that the test has put into `registers`; every core counts the ends of jobs that it is told of. */
#define REG(address) (*(volatile unsigned *)(address))
enum { EVENTS = 0x10204000, ENGINE = 0x10201000, LINE = 1 << 12, JOB_REGISTERS = 24 };
volatile unsigned jobs = 1, registers[2][JOB_REGISTERS], ids[2], refusals[2], wakes[8], cycles;

static void wait_at(unsigned address) {
    unsigned value;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(value) : "r"(address) : "memory");
}

static void configure(unsigned job) {
    do ids[job] = REG(ENGINE + 4);
    while ((int)ids[job] < 0);
    refusals[0] = REG(ENGINE + 4);
    for (unsigned i = 0; i < JOB_REGISTERS; i++) REG(ENGINE + 0x20 + 4 * i) = registers[job][i];
}

/* Both counter reads and what lies between them share a line of the instruction cache, so that no fetch is measured. */
static unsigned commit_and_wait(void) {
    unsigned began, ended, value;
    __asm__ volatile(".option push\n .option norvc\n .balign 16\n nop\n csrr %0, 0xb00\n sw x0, 0(%3)\n .insn i 0x03, 6, %2, %4, 0\n"
                     "csrr %1, 0xb00\n .option pop"
                     : "=&r"(began), "=&r"(ended), "=&r"(value)
                     : "r"(ENGINE), "r"(EVENTS + 0x3c)
                     : "memory");
    return ended - began;
}

static void run_one(void) {
    configure(0);
    cycles = commit_and_wait();
    wakes[0]++;
}

static void run_both(void) {
    configure(0);
    REG(ENGINE) = 0;
    configure(1);
    REG(ENGINE) = 0;
    refusals[1] = REG(ENGINE + 4);
    for (; wakes[0] < 2; wakes[0]++) wait_at(EVENTS + 0x3c);
}

int cluster_main(unsigned core) {
    REG(EVENTS + 8) = LINE;
    wait_at(EVENTS + 0x21c);
    if (core) while (wakes[core] < jobs) wait_at(EVENTS + 0x3c), wakes[core]++;
    else if (jobs == 1) run_one();
    else run_both();
    wait_at(EVENTS + 0x21c);
    return 0;
}
