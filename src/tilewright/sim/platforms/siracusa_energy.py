"""What Siracusa spends, at 0.8 V and 360 MHz. We know of no published table: these are estimates, each with its source.

[S] A. S. Prasad et al., Siracusa, JSSC 59(7), 2024: 16 nm; peak 8.84 TOp/J and 1.95 TOp/s, 698 GOp/s with 8-bit weights
[V] D. Rossi et al., Vega, JSSC 57(1), 2022: 22 nm, 8 of the same cores and their L1: 615 GOp/s/W on 8-bit products
[R] M. Gautschi et al., the core (RI5CY), TVLSI 25(10), 2017: a cluster in 28 nm near threshold, 193 MOp/s/mW
[P] M. Cavalcante et al., Spatz, 2022: 22 nm, 4 scalar cores and their L1: 13.2 pJ for each 32-bit MAC and its loads
[H] M. Horowitz, ISSCC 2014: 45 nm, 0.9 V: adder 0.1 pJ, 32-bit product 3.1, float sum 0.9, float product 3.7; 64 bits
    from an SRAM of 8 KiB 10 pJ, 32 KiB 20, 1 MiB 100. Times 0.28 here: 16/45 of the capacitance, (0.8/0.9)^2
[L] M. Scherer et al., Deeploy, TCAD 43(11), 2024: silicon decoding a small language model: 125 mJ in 0.75 s with cached
    keys and values, 3193 mJ in 17.6 s without: 167 and 181 mW for very different work
[D] S27KS0641 (HyperRAM) data sheet, Cypress 001-97964: 60 mA at most at 1.8 V and 333 MB/s
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.sim.energy import Cost, EnergyModel

VOLTS, HERTZ = 0.8, 360_000_000

CORES, FETCH, L1, L2, WMEM, L3 = "cores", "fetch", "L1", "L2", "WMEM", "L3"
DMA, NPU, STATIC = "DMA", "NPU", "static"

LOOP = "a loop of products is 11.5 pJ a core and cycle in all: between [V] 17, [R] 8 and [P] 3 an instruction, scaled"
INSTRUCTIONS = {
    "alu": (5.0, LOOP),
    "mul": (6.0, "alu and 0.9 pJ for a 32-bit product [H]"),
    "mulh": (8.0, "alu and three products [H]; its further cycles are stalls"),
    "mac": (6.5, "mul and its sum, with a third operand"),
    "dot": (9.0, LOOP),
    "div": (6.0, "like mul; its further cycles are stalls"),
    "load": (5.5, LOOP),
    "store": (5.5, "like load"),
    "branch": (5.0, "like alu; the cycles of a taken one are stalls"),
    "jump": (5.5, "like alu, with the sum of the target"),
    "float": (7.5, "alu, and 1.3 pJ for product and sum [H], and the way to a shared unit"),
    "float_div": (12.0, "guess: 14 cycles of an iterative unit, whose core waits"),
}
"""Without fetching them and without what they ask of memories."""


def _cores() -> Iterator[Cost]:
    for name, (picojoules, source) in INSTRUCTIONS.items():
        yield Cost(name, CORES, picojoules, 0.5, source)
    yield Cost("stalled", CORES, 2.0, 0.6, "guess: 40 % of alu, the clock without the work")
    yield Cost("asleep", CORES, 0.3, 0.8, "guess: clock gated, 6 % of alu")
    yield Cost("instructions", FETCH, 2.5, 0.5, "32 bits of a private cache of latches: half a word of L1 and tags")
    yield Cost(
        "private_refills", FETCH, 12.0, 0.6, "16 bytes of the shared cache: four words of 2 KiB banks [H], written once"
    )
    yield Cost(
        "shared_refills", FETCH, 14.0, 0.6, "writing 16 bytes and a tag; reading them is counted where they come from"
    )


def _memories() -> Iterator[Cost]:
    bank, large = "SRAM of 16 KiB 2.0 pJ [H], and the crossbar", "SRAM of 512 KiB, 14 pJ [H]"
    way = "and 8 for the way through the interconnect"
    for words in ("words", "code_words"):
        yield Cost(f"l1.{words}", L1, 3.5, 0.4, bank)
    yield Cost("l1.dma_bytes", L1, 0.9, 0.4, "a quarter of a word")
    yield Cost("l1.npu_bytes", L1, 0.8, 0.5, "a quarter of a word, less for the wide port")
    for private in ("l2_private0", "l2_private1"):
        for words in ("words", "code_words"):
            yield Cost(f"{private}.{words}", L2, 11.0, 0.5, f"SRAM of 32 KiB 2.8 pJ [H], {way}")
        yield Cost(f"{private}.dma_bytes", L2, 0.9, 0.5, "a quarter of 2.8 pJ, and ports")
    for words in ("words", "code_words"):
        yield Cost(f"l2.{words}", L2, 22.0, 0.5, f"{large}, {way}")
    yield Cost("l2.dma_bytes", L2, 3.5, 0.5, "a quarter of 14 pJ")
    for words in ("words", "code_words"):
        yield Cost(f"wmem.{words}", WMEM, 22.0, 0.6, "like L2")
    yield Cost("wmem.dma_bytes", WMEM, 3.5, 0.6, "like L2")
    yield Cost("wmem.npu_bytes", WMEM, 2.5, 0.6, "like L2, less for 32 bytes at once; MRAM and SRAM are not told apart")
    yield Cost(
        "l3.dma_bytes", L3, 350.0, 0.5, "324 pJ at most in the device [D], and pads: 10 pF, 1.8 V, half of 8 lines"
    )


def _engines() -> Iterator[Cost]:
    fitted = "what [S]'s 0.226 pJ a MAC leave, taken as 2-bit weights at the 2,700 MAC a cycle of its peak"
    yield Cost("dma_bytes", DMA, 1.0, 0.6, "guess: a burst buffer and 64 bits of AXI")
    yield Cost("npu_mac_bits", NPU, 0.035, 0.6, fitted)
    yield Cost("npu_cycles", NPU, 35.0, 0.6, f"{fitted}; guess of how it is divided")


def _domains() -> Iterator[Cost]:
    """Leakage, and clocks that never stop."""
    total = "of 100 mW: what [L]'s 167 to 181 mW leave, which hardly depend on the work; divided by size"
    for milliwatts, domain in (
        (45.0, "fabric with L2"),
        (30.0, "cluster with L1"),
        (25.0, "weight memory and N-EUREKA"),
    ):
        yield Cost("cycles", STATIC, milliwatts * 1e9 / HERTZ, 0.5, f"{domain}: {milliwatts:.0f} {total}")


SIRACUSA_ENERGY = EnergyModel(VOLTS, HERTZ, (*_cores(), *_memories(), *_engines(), *_domains()))
