"""ITAPool: whole heads by one command, in the layout and the arithmetic of the first generation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.sim.ita.layers import built_for_bench, random_bytes
from tests.sim.mempool.programs import built as built_for_pool
from tilewright.errors import CompileError
from tilewright.sim.platforms.ita_bench import ITA_BENCH
from tilewright.sim.simulator import Simulator
from tilewright.targets.ita.arithmetic import POOL_SOFTMAX, Head, Scale, attention

RAM = 0x8010_0000
ORDER = (0, 1, 3, 2, 4, 5)
"""Of the constants: Q, K, QK, V, AV, output."""


def in_blocks(matrix: np.ndarray) -> np.ndarray:
    """Column blocks of 16."""
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows, columns // 16, 16).transpose(1, 0, 2)).reshape(-1)


@dataclass(frozen=True, eq=False)
class PoolCase:
    x: np.ndarray
    y: np.ndarray
    heads: list[Head]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return (*self.x.shape, self.heads[0].wq.shape[1])

    def block(self, head: Head) -> bytes:
        """Of the inputs only the first head's are read."""
        inputs = (self.x, self.y) if head is self.heads[0] else (np.zeros_like(self.x),) * 2
        weights = [head.wo.T, head.wv.T, head.wk.T]
        parts = [np.ascontiguousarray(w).tobytes() for w in weights]
        parts += [in_blocks(m).tobytes() for m in (*inputs, np.ascontiguousarray(head.wq.T))]
        return b"".join([*parts, *(b.astype("<i4").tobytes() for b in (head.bo, head.bv, head.bk, head.bq))])


def pool_case(seed: int, s: int, e: int, p: int, heads: int) -> PoolCase:
    rng = np.random.default_rng(seed)

    def head() -> Head:
        weights = [random_bytes(rng, *shape) for shape in ((e, p), (e, p), (e, p), (p, e))]
        biases = [rng.integers(-20_000, 20_000, size) for size in (p, p, p, e)]
        shifts = [16, 16, 16, 14, 13, 15]
        scales = [Scale(int(rng.integers(60, 130)), shift, int(rng.integers(-3, 4))) for shift in shifts]
        return Head(*weights, *biases, scales)

    return PoolCase(random_bytes(rng, s, e), random_bytes(rng, s, e), [head() for _ in range(heads)])


def record(head: Head, at: int) -> bytes:
    """Pointers to factors, shifts and summands, and these."""
    scales = [head.scales[i] for i in ORDER] + [Scale()] * 2
    pointers = np.array([at + 16, at + 24, at + 32, 0], "<u4").tobytes()
    factors, shifts = (bytes(getattr(s, name) for s in scales) for name in ("multiplier", "shift"))
    return pointers + factors + shifts + np.array([s.add for s in scales], "<i4").tobytes()


def run(case: PoolCase, *flags: str, sizes: tuple[int, int, int] | None = None) -> tuple[list[np.ndarray], int]:
    """Results of the heads, and the cycles from the first start to the last end."""
    with Simulator(ITA_BENCH) as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_bench("itapool.c", *flags))
        simulator.probe(["main"])
        found = run_loaded(simulator, case, RAM, 0, sizes)
        assert simulator.read("seen_start", 4) == bytes(4)
        assert simulator.read("seen_busy", 4)[0] == 2
    return found


def run_loaded(
    simulator: Simulator, case: PoolCase, ram: int, exit_code: int, sizes: tuple[int, int, int] | None = None
) -> tuple[list[np.ndarray], int]:
    """Everything lies from `ram` on."""
    s, e, _ = case.sizes
    blocks = [case.block(head) for head in case.heads]
    step = -(-(len(blocks[0]) + s * e + 128) // 4096) * 4096
    places = [ram + i * step for i in range(len(blocks))]
    for place, block, head in zip(places, blocks, case.heads, strict=True):
        simulator.write(place, block)
        simulator.write(place + step - 128, record(head, place + step - 128))
    ends = [place + len(blocks[0]) for place in places]
    names = dict(zip("SEP", sizes or case.sizes, strict=True)) | {"heads": len(blocks)}
    for name, value in names.items():
        simulator.write(name, value.to_bytes(4, "little"))
    simulator.write("from", np.array(places, "<u4").tobytes())
    simulator.write("to", np.array(ends, "<u4").tobytes())
    simulator.write("record", np.array([place + step - 128 for place in places], "<u4").tobytes())
    assert simulator.run(10_000_000).exit_code == exit_code
    outs = [np.frombuffer(simulator.read(end, s * e), np.int8).reshape(s, e) for end in ends]
    jobs = simulator.jobs()
    return outs, max(job.end for job in jobs) - min(job.start for job in jobs)


@pytest.mark.parametrize(("s", "e", "p", "heads"), [(64, 64, 64, 1), (128, 64, 64, 2), (64, 128, 64, 4)])
def test_heads(s: int, e: int, p: int, heads: int) -> None:
    """The inputs are those of the first instance, whatever lies in the blocks of the others."""
    case = pool_case(s + e, s, e, p, heads)
    for head, out in zip(case.heads, run(case)[0], strict=True):
        assert np.array_equal(out, attention(case.x, case.y, head, POOL_SOFTMAX).out)


OLD_LIST = "-DCORES_REGISTER=0x40000010"
POOL_L1 = 0x8_0000


@pytest.mark.parametrize("ram", [RAM, POOL_L1])
def test_heads_on_the_whole_platform(ram: int) -> None:
    """192 cores, of which four start one instance each; from both memories."""
    case = pool_case(9, 64, 64, 64, 4)
    with Simulator("itapool") as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_pool("itapool_heads.c", 64, OLD_LIST))
        simulator.probe(["core_main"], cores=range(4))
        outs, took = run_loaded(simulator, case, ram, 192)
    for head, out in zip(case.heads, outs, strict=True):
        assert np.array_equal(out, attention(case.x, case.y, head, POOL_SOFTMAX).out)
    assert took < 2 * (11 + 4 * 301 + 2 * 299), "at the same time"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("*(volatile char *)from[core]", ""),
        ("*(volatile char *)from[core] = 1", "touches what a device's job is at work on"),
        ("__atomic_fetch_add((unsigned *)from[core], 1, 0)", "touches what a device's job is at work on"),
        ("*(volatile char *)to[core]", "touches what a device's job is at work on"),
        ("*(volatile unsigned *)0x40000000 = 1", "ends the program while a device is at work"),
    ],
)
def test_what_a_head_works_on_is_not_touched(fault: str, found: str) -> None:
    with Simulator("itapool") as simulator:
        simulator.check(misuse=True)
        simulator.load(built_for_pool("itapool_heads.c", 64, OLD_LIST, f"-DFAULT={fault}"))
        simulator.probe(["core_main"])
        if not found:
            run_loaded(simulator, pool_case(9, 64, 64, 64, 1), RAM, 192)
            return
        with pytest.raises(CompileError) as caught:
            run_loaded(simulator, pool_case(9, 64, 64, 64, 1), RAM, 192)
    assert caught.value.what.startswith(found)


def test_a_head_takes_the_time_of_its_tiles() -> None:
    """Six products of one tile; the scores and the mixed values have no bias."""
    assert run(pool_case(1, 64, 64, 64, 1))[1] == 1 + 10 + 4 * 301 + 2 * 299


@pytest.mark.parametrize(
    ("flags", "sizes", "found"),
    [
        ((), (96, 64, 64), "starts a head of sizes that are no multiples of 64"),
        ((), (64, 576, 64), "starts a head of sizes that are no multiples of 64"),
        (("-DFAULT=R(0x10) = 64",), None, "writes a register of a device that is at work"),
        (("-DFAULT=while (R(0) & BUSY); R(0) = START | 1 << 5",), None, "starts a head with more than one iteration"),
        (("-DFAULT=while (R(0) & BUSY); R(4) = 0; R(0) = START",), None, "a device reads 25600 bytes at 0x00000000"),
    ],
)
def test_misuse(flags: tuple[str, ...], sizes: tuple[int, int, int] | None, found: str) -> None:
    with pytest.raises(CompileError) as caught:
        run(pool_case(1, 64, 64, 64, 1), *flags, sizes=sizes)
    assert caught.value.what.startswith(found)
    assert "in main" in caught.value.where
