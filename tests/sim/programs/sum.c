/* Each core sums its share of an array that core 0 brings from L2 by DMA; core 0 adds the sums and prints them. */
#define REG(address) (*(volatile unsigned *)(address))
enum { N = 1024, CORES = 8 };
static unsigned data[N];
static volatile unsigned sums[CORES];
volatile unsigned total;

static void barrier(void) {
    unsigned value;
    __asm__ volatile(".insn i 0x03, 6, %0, %1, 0x21c" : "=r"(value) : "r"(0x10204000u) : "memory");
}

static void fetch(void) {
    unsigned id = REG(0x10204400u);
    REG(0x10204400u) = sizeof data | 1u << 17 | 1u << 18;
    REG(0x10204400u) = 0x10000000u;
    REG(0x10204400u) = (unsigned)data;
    while (REG(0x10204404u) >> id & 1) {}
    REG(0x10204404u) = 1u << id;
}

static void print(const char *text) {
    while (*text) REG(0x1a10f000u) = (unsigned char)*text++;
}

__attribute__((noinline)) unsigned share(unsigned core) {
    unsigned sum = 0;
    for (unsigned i = core; i < N; i += CORES) sum += REG(0x10000000u + 4 * i);
    return sum;
}

int cluster_main(unsigned core) {
    if (core == 0) {
        for (unsigned i = 0; i < N; i++) data[i] = i * i;
        fetch();
    }
    barrier();
    sums[core] = share(core);
    barrier();
#ifdef EVERYONE
    EVERYONE;
#endif
    if (core != 0) return 0;
    for (unsigned i = 0; i < CORES; i++) total += sums[i];
    print("done\n");
#ifdef FAULT
    FAULT;
#endif
    return total == 357389824u ? 0 : 1;
}
