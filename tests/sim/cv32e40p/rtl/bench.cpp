// Runs a memory image on the verilated core until an address retires; writes what every instruction did.
//
//   bench image base entry begin end max_cycles [trace]
//
// Memory answers in the next cycle. Prints the cycles in which `begin` and `end` left the decode stage, then writes the
// memory back to the image file.
#include "Vbench.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

namespace {

struct Store {
    uint32_t address, lanes, data;
};

// One retired instruction, as the trace file holds it; register 0: none.
struct Retired {
    uint32_t cycle, pc, result_register, result_value, loaded_register, loaded_value, stores;
    Store store[2];
};

struct Entry {
    Retired retired;
    bool waits_for_load;
};

class Memory {
  public:
    Memory(const char *path, uint32_t base) : path_(path), base_(base) {
        FILE *file = std::fopen(path, "rb");
        if (!file) std::exit(2);
        std::fseek(file, 0, SEEK_END);
        bytes_.resize((size_t)std::ftell(file));
        std::rewind(file);
        if (std::fread(bytes_.data(), 1, bytes_.size(), file) != bytes_.size()) std::exit(2);
        std::fclose(file);
    }

    // Fetches run ahead of the program's end: outside there are zeros.
    uint32_t read(uint32_t address) const {
        uint32_t at = (address & ~3u) - base_, word = 0;
        if ((size_t)at + 4 <= bytes_.size()) std::memcpy(&word, &bytes_[at], 4);
        return word;
    }

    void write(uint32_t address, uint32_t lanes, uint32_t data) {
        uint32_t at = (address & ~3u) - base_;
        if ((size_t)at + 4 > bytes_.size()) return;
        for (int i = 0; i < 4; i++)
            if (lanes >> i & 1) bytes_[at + (uint32_t)i] = (uint8_t)(data >> 8 * i);
    }

    void save() const {
        FILE *file = std::fopen(path_, "wb");
        if (!file || std::fwrite(bytes_.data(), 1, bytes_.size(), file) != bytes_.size()) std::exit(2);
        std::fclose(file);
    }

  private:
    const char *path_;
    uint32_t base_;
    std::vector<uint8_t> bytes_;
};

// Puts the register and memory writes of the pipeline together into instructions.
class Tracer {
  public:
    explicit Tracer(const char *path) : file_(path ? std::fopen(path, "wb") : nullptr) {}

    void look(const Vbench &core, uint32_t cycle) {
        if (!file_) return;
        note_writes(core);
        if (core.issues) window_.push_back({{cycle, core.issued_pc, 0, 0, 0, 0, 0, {}}, (bool)core.issued_loads});
        while (window_.size() > 1 && !window_.front().waits_for_load) flush_one();
    }

    void finish() {
        while (file_ && !window_.empty()) flush_one();
        if (file_) std::fclose(file_);
    }

  private:
    // Results and stores belong to the newest instruction, which is in execute; loaded values to the oldest open load.
    void note_writes(const Vbench &core) {
        if (window_.empty()) return;
        Retired &newest = window_.back().retired;
        if (core.result_valid) newest.result_register = core.result_register, newest.result_value = core.result_value;
        if (core.data_request && core.data_is_write && newest.stores < 2)
            newest.store[newest.stores++] = {core.data_address & ~3u, core.data_lanes, core.data_written};
        if (core.loaded_valid) note_load(core);
    }

    void note_load(const Vbench &core) {
        for (Entry &entry : window_) {
            if (!entry.waits_for_load) continue;
            entry.retired.loaded_register = core.loaded_register;
            entry.retired.loaded_value = core.loaded_value;
            entry.waits_for_load = false;
            return;
        }
    }

    void flush_one() {
        std::fwrite(&window_.front().retired, sizeof(Retired), 1, file_);
        window_.pop_front();
    }

    FILE *file_;
    std::deque<Entry> window_;
};

uint32_t number(const char *text) { return (uint32_t)std::strtoul(text, nullptr, 0); }

// One clock cycle: the answers to the requests of the last one, then the rising edge.
void answer(Vbench &core, Memory &memory) {
    bool fetches = core.fetch_request, loads = core.data_request;
    uint32_t fetched = memory.read(core.fetch_address), loaded = memory.read(core.data_address);
    if (core.data_request && core.data_is_write) memory.write(core.data_address, core.data_lanes, core.data_written);
    core.clk = 1;
    core.eval();
    core.fetch_valid = fetches, core.fetch_data = fetched;
    core.data_valid = loads, core.data_read = loaded;
    core.clk = 0;
    core.eval();
}

void reset(Vbench &core, uint32_t entry) {
    core.boot_address = entry;
    core.reset_n = 0;
    for (int i = 0; i < 4; i++) core.clk = 1, core.eval(), core.clk = 0, core.eval();
    core.reset_n = 1;
    core.eval();
}

} // namespace

double sc_time_stamp() { return 0; }

int main(int count, char **argument) {
    if (count < 7) return 2;
    Memory memory(argument[1], number(argument[2]));
    uint32_t begin = number(argument[4]), end = number(argument[5]), limit = number(argument[6]), began = 0;
    Tracer tracer(count > 7 ? argument[7] : nullptr);
    Vbench core;
    reset(core, number(argument[3]));
    for (uint32_t cycle = 0, left = ~0u; cycle < limit && left; cycle++, left -= left != ~0u) {
        tracer.look(core, cycle);
        if (core.issues && core.issued_pc == begin && !began) began = cycle;
        if (core.issues && core.issued_pc == end && left == ~0u) std::printf("%u %u\n", began, cycle), left = 8;
        if (core.issued_traps) std::printf("trap %#x\n", core.issued_pc), left = 1;
        answer(core, memory);
    }
    tracer.finish();
    memory.save();
    return 0;
}
