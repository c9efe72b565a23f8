/* The Verilog of an instruction as a function. With a clock the operands stay for as many rising edges as it has latency. */
#include <cstdint>

#include "Vtw_top.h"
#include "tw_ports.h"
#include "verilated.h"

extern "C" uint32_t tw_rtl(uint32_t rd, uint32_t rs1, uint32_t rs2, uint32_t imm);

extern "C" uint32_t tw_rtl(uint32_t rd, uint32_t rs1, uint32_t rs2, uint32_t imm) {
    static VerilatedContext context;
    static Vtw_top top(&context);
    (void)rd, (void)rs2, (void)imm;
    TW_SET(top)
    top.eval();
#if TW_EDGES > 0
    for (int i = 0; i < TW_EDGES; i++) top.clk = 0, top.eval(), top.clk = 1, top.eval();
#endif
    return top.result;
}
