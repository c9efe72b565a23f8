/* A device in Verilog as a user's device: one clock cycle after the other while it is busy or a register is accessed; between
 * jobs its clock stands still. `tw_top` is the user's module behind adapters, with the ports of ports.py. */
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "Vtw_top.h"
#include "verilated.h"
#if TW_WAVES_FST
#include "verilated_fst_c.h"
typedef VerilatedFstC waves_file;
#elif TW_WAVES_VCD
#include "verilated_vcd_c.h"
typedef VerilatedVcdC waves_file;
#endif

extern "C" {
#include "user_device.h"
}
#include "tw_rtl_device.h"

namespace {

enum { RESET_CYCLES = 4, LONGEST_WAIT = 10000, MOST_POLLS = 100000 };
const uint64_t PATIENCE = 1000000;  /* cycles of work without an access to memory or a written register */
const struct { uint32_t offset; char access; const char *name; } REGISTERS[] = TW_REGISTERS;

struct {
    std::string path;
    uint64_t from = 0, to = UINT64_MAX;
} waves;

uint64_t owner;

/* Files that the Verilog reads as it begins are named as seen from its own folder. */
struct beside_sources {
#ifdef TW_PLACE
    char before[4096];
    const bool moved;
    beside_sources() : moved(getcwd(before, sizeof before) && !chdir(TW_PLACE)) {}
    ~beside_sources() {
        if (moved && chdir(before)) perror(before);
    }
#else
    beside_sources() {}
    ~beside_sources() {}
#endif
};

struct rtl_device {
    const uint64_t machine = owner;
    VerilatedContext context;
    Vtw_top top{&context};
    uint64_t free = 0;              /* the first cycle that was not simulated */
    uint64_t granted = 0, quiet = 0, polls = 0;
    bool asks = false, answers = false, was_busy = false;
    unsigned char answer[TW_MEM_BYTES] = {};
    std::string last = "none";      /* access to a register */
#if TW_WAVES_FST || TW_WAVES_VCD
    waves_file file;
#endif

    rtl_device() {
#if TW_WAVES_FST || TW_WAVES_VCD
        if (!waves.path.empty()) {
            context.traceEverOn(true);
            top.trace(&file, 99);
            file.open(waves.path.c_str());
        }
#endif
        top.reg_valid = 0;
        const beside_sources here;
        begin(0);
    }

    /* A reset, as before the first cycle; a machine that was put back to an earlier state begins with it too. */
    void begin(uint64_t now) {
        top.reset = 1;
        for (int i = 0; i < RESET_CYCLES; i++) cycle(nullptr);
        top.reset = 0;
        free = now, granted = quiet = polls = 0, asks = answers = was_busy = false;
    }

    void dump(int half) {
        (void)half;
#if TW_WAVES_FST || TW_WAVES_VCD
        if (file.isOpen() && free >= waves.from && free < waves.to && !top.reset) file.dump(10 * free + 5 * half);
#endif
    }

    void close() {
#if TW_WAVES_FST || TW_WAVES_VCD
        if (file.isOpen()) file.close();
#endif
    }

    void fail(const tw_host *host, const std::string &what, const char *hint) {
        host->fail(host, (what + "; last register access: " + last + "\n" + hint).c_str());
    }

    /* What the memory does in this cycle. */
    void serve(const tw_host *host) {
        if (!top.mem_request || !host) {
            asks = false;
            return;
        }
        if (!asks) granted = free + host->bank(host, top.mem_address, TW_MEM_BYTES, free);
        asks = true;
        if (free < granted) return;
        asks = false;
        top.mem_grant = 1;
        quiet = 0;
        if (top.mem_address % TW_MEM_BYTES) misaligned(host);
        if (top.mem_write) store(host);
        else answers = true, host->read(host->sim, top.mem_address, answer, TW_MEM_BYTES);
    }

    void misaligned(const tw_host *host) {
        char text[96];
        snprintf(text, sizeof text, "asks for %d bytes at %#x, which is not a multiple of that", TW_MEM_BYTES, (unsigned)top.mem_address);
        fail(host, text, "set the low bits of mem_address to 0 and choose bytes by mem_strobe");
    }

    /* The bytes whose strobes are set, run by run. */
    void store(const tw_host *host) {
        const unsigned char *data = (const unsigned char *)&top.mem_wdata;
        const uint64_t strobes = top.mem_strobe;
        for (int at = 0; at < TW_MEM_BYTES;) {
            int end = at;
            while (end < TW_MEM_BYTES && (strobes >> end & 1)) end++;
            if (end > at) host->write(host->sim, top.mem_address + at, data + at, end - at);
            at = end + 1;
        }
    }

    /* One clock cycle: whether the register access, if there is one, is taken, and what it reads. */
    bool cycle(const tw_host *host, uint32_t *value = nullptr) {
        top.mem_rvalid = answers;
        if (answers) memcpy(&top.mem_rdata, answer, TW_MEM_BYTES);
        answers = false;
        top.clk = 0;
        top.mem_grant = 0;
        top.eval();
        serve(host);
        if (value && top.mem_grant) top.eval();
        dump(0);
        const bool taken = top.reg_ready;
        if (value) *value = top.reg_rdata;
        top.clk = 1;
        top.eval();
        dump(1);
        free += TW_DIVIDER;
        if (host) look(host);
        return taken;
    }

    /* Has a job begun or ended? */
    void look(const tw_host *host) {
        const bool is_busy = top.busy;
        if (is_busy && !was_busy && host->is_checked(host)) host->claim(host, 0, 0, 0);
        if (!is_busy && was_busy) end(host);
        was_busy = is_busy;
        if (is_busy && ++quiet == PATIENCE)
            fail(host, "has been busy for 1,000,000 cycles without an access to memory", "look at its state machine with --waves");
    }

    void end(const tw_host *host) {
        host->release(host);
        if (TW_EVENT_LINE >= 0) host->raise_event(host->sim, 0xffff, TW_EVENT_LINE, free);
    }

    /* All cycles before `now`. */
    void catch_up(const tw_host *host, uint64_t now) {
        while (was_busy && free < now) cycle(host);
        if (free < now) free = (now + TW_DIVIDER - 1) / TW_DIVIDER * TW_DIVIDER;
    }

    uint32_t access(const tw_host *host, uint32_t offset, bool is_write, uint32_t value, uint64_t now) {
        uint32_t found = 0;
        note(host, offset, is_write, value, now);
        catch_up(host, now);
        top.reg_valid = 1, top.reg_write = is_write, top.reg_address = offset, top.reg_wdata = value;
        int waited = 0;
        while (!cycle(host, &found) && ++waited < LONGEST_WAIT) {}
        top.reg_valid = 0;
        if (waited == LONGEST_WAIT) fail(host, "does not answer", "set reg_ready in the cycle in which an access is taken");
        if (free - TW_DIVIDER > now) host->wait(host, (uint32_t)(free - TW_DIVIDER - now));
        if (!is_write && offset == TW_DONE) polled(host, found);
        return found;
    }

    void note(const tw_host *host, uint32_t offset, bool is_write, uint32_t value, uint64_t now) {
        char text[160];
        const char *name = "no register";
        bool is_allowed = false;
        for (const auto &one : REGISTERS)
            if (one.offset == offset) name = one.name, is_allowed = one.access != (is_write ? 'r' : 'w');
        if (!is_allowed) host->misuse(host, TW_MISUSE_ACCESS);
        if (is_write && was_busy) host->misuse(host, TW_MISUSE_BUSY);
        if (is_write) quiet = polls = 0;
        if (!is_write && offset == TW_DONE) return;
        snprintf(text, sizeof text, is_write ? "0x%x written to %s (offset 0x%x) in cycle %llu" : "0x%x, %s (offset 0x%x) read in cycle %llu", value, name,
                 offset, (unsigned long long)now);
        last = text;
    }

    void polled(const tw_host *host, uint32_t found) {
        if (was_busy || (found & TW_DONE_BITS)) polls = 0;
        else if (++polls == MOST_POLLS) fail(host, "is not busy, and never says that its job is done", "set the bits of `done` when a job ends");
    }
};

std::vector<std::unique_ptr<rtl_device>> devices;

/* What the machine keeps of a device: if the time is another, so is the machine's state. */
struct kept {
    rtl_device *device;
    uint64_t free;
};

rtl_device *of(void *state) {
    const kept *k = (const kept *)state;
    if (k->device->free != k->free) k->device->begin(k->free);
    return k->device;
}

void keep(void *state) { ((kept *)state)->free = ((kept *)state)->device->free; }

void reset(void *state) {
    devices.emplace_back(new rtl_device);
    ((kept *)state)->device = devices.back().get();
    keep(state);
}

uint32_t read(void *state, const tw_host *host, uint32_t offset, uint64_t now) {
    const uint32_t value = of(state)->access(host, offset, false, 0, now);
    keep(state);
    return value;
}

void write(void *state, const tw_host *host, uint32_t offset, uint32_t value, uint64_t now) {
    of(state)->access(host, offset, true, value, now);
    keep(state);
}

uint64_t tick(void *state, const tw_host *host, uint64_t now) {
    rtl_device *d = of(state);
    d->catch_up(host, now);
    keep(state);
    return d->was_busy ? now + TW_DIVIDER : TW_NEVER;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const tw_user_device *tw_device(void) {
    static const tw_user_device DEVICE = {sizeof(kept), reset, read, write, tick};
    return &DEVICE;
}

/* Whose devices come next. */
EXPORT void tw_rtl_owner(uint64_t who) { owner = who; }

/* Signals of the next device go to this file, from a cycle on until another. */
EXPORT void tw_rtl_waves(const char *path, uint64_t from, uint64_t to) { waves.path = path, waves.from = from, waves.to = to; }

/* The machine that they were attached to is gone. */
EXPORT void tw_rtl_close(uint64_t of_whom) {
    for (auto &one : devices)
        if (one->machine == of_whom) one->close(), one.reset();
    devices.erase(std::remove(devices.begin(), devices.end(), nullptr), devices.end());
}
