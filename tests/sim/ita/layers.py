"""Random layers for ITA: what lies in its memory, its jobs, and what must lie there in the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from tests.sim.assembling import PROGRAMS, TARGET, _programs
from tests.sim.ita.jobs import ItaJob, Product, attended_jobs, job_registers, product_jobs
from tilewright.sim.platforms.ita_bench import ita_bench
from tilewright.sim.simulator import Simulator
from tilewright.sim.watching.probes import EngineJob
from tilewright.targets.ita.arithmetic import (
    GELU,
    IDENTITY,
    RELU,
    SOFTMAX,
    Activation,
    Head,
    Scale,
    Softmax,
    attend,
    attention,
    gelu_of,
    linear,
)
from tilewright.targets.ita.jobs import (
    ATTENTION,
    FEED_FORWARD,
    LINEAR,
    SINGLE_ATTENTION,
    ItaLayer,
)
from tilewright.targets.ita.layout import SIDE, as_tiles, packed_bias
from tilewright.toolchain.compiler import BARE, find_compiler

ROOM = 0x8_0000
KINDS = ("linear", "feed-forward", "attention", "single attention")
HEAD = ("wq", "wk", "wv", "wo", "bq", "bk", "bv", "bo")
"""Operands of a head, in the order of Head."""
Array = np.ndarray


class Image:
    """The TCDM before and after: operands are put, results are expected."""

    def __init__(self, rng: np.random.Generator, size: int = ROOM) -> None:
        self.next = 0
        self.before = rng.integers(0, 256, size).astype(np.uint8)
        self.after = self.before.copy()

    def place(self, size: int) -> int:
        at = self.next
        self.next = -(-(at + size) // 128) * 128
        assert self.next <= len(self.before)
        return at

    def put(self, data: Array) -> int:
        at = self.place(data.nbytes)
        for image in (self.before, self.after):
            image[at : at + data.nbytes] = data.view(np.uint8).reshape(-1)
        return at

    def expect(self, matrix: Array, at: int | None = None) -> int:
        data = as_tiles(matrix).reshape(-1)
        at = self.place(data.nbytes) if at is None else at
        self.after[at : at + data.nbytes] = data.view(np.uint8)
        return at


@dataclass(frozen=True, eq=False)
class Case:
    """A layer with operands; `results` by name."""

    name: str
    layer: ItaLayer
    operands: dict[str, Array]
    results: dict[str, Array]
    jobs: list[ItaJob]
    image: Image
    softmax: Softmax = field(default_factory=Softmax)

    @property
    def words(self) -> list[list[int]]:
        return job_registers(self.layer, self.jobs)


def random_bytes(rng: np.random.Generator, *shape: int) -> Array:
    """Often near zero, with long tails; sometimes anything."""
    if rng.random() < 0.3:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return np.clip(rng.standard_cauchy(shape) * rng.choice([8, 32]), -128, 127).astype(np.int8)


def random_bias(rng: np.random.Generator, size: int) -> Array:
    reach = int(rng.choice([200, 20_000, 1 << 23]))
    return rng.integers(-reach, reach, size)


def random_scale(rng: np.random.Generator, inner: int) -> Scale:
    """Mostly one that uses the range of bytes; sometimes an extreme one."""
    if rng.random() < 0.1:
        return Scale(*(int(rng.choice(values)) for values in ([0, 1, 255], [0, 1, 41, 63], [-128, 0, 127])))
    multiplier = int(rng.integers(32, 256))
    reach = multiplier * 30 * 30 * inner**0.5
    shift = max(0, round(np.log2(reach / 64)) + int(rng.integers(-1, 2)))
    return Scale(multiplier, shift, int(rng.integers(-20, 20)))


def random_activation(rng: np.random.Generator) -> Activation:
    kind = str(rng.choice([IDENTITY, GELU, RELU]))
    if kind == GELU:
        gelu = gelu_of(float(rng.uniform(3, 6)) / 128)
        return Activation(GELU, Scale(gelu.scale.multiplier, 20, int(rng.integers(-9, 9))), gelu.b, gelu.c)
    return Activation(kind, Scale(int(rng.integers(1, 256)), int(rng.integers(0, 9)), int(rng.integers(-9, 9))))


def random_tiles(rng: np.random.Generator, most: int) -> int:
    return int(rng.integers(1, most + 1)) if rng.random() < 0.7 else 1


def linear_case(x: Array, w: Array, bias: Array, scale: Scale, activation: Activation, image: Image) -> Case:
    rows, inner, columns = x.shape[0] // SIDE, x.shape[1] // SIDE, w.shape[1] // SIDE
    y = linear(x, w, bias, scale, activation)
    product = Product(
        rows, columns, inner, image.put(as_tiles(x)), image.put(as_tiles(w.T)), image.expect(y),
        image.put(packed_bias(bias)),
    )  # fmt: skip
    layer = ItaLayer(LINEAR, rows, inner, columns, scales=[scale], activation=activation)
    return Case("linear", layer, {"x": x, "w": w, "b": bias}, {"y": y}, list(product_jobs(product)), image)


def feed_forward_case(
    x: Array, w1: Array, b1: Array, w2: Array, b2: Array, scales: tuple[Scale, Scale], act: Activation, image: Image
) -> Case:
    s, e, f = x.shape[0] // SIDE, x.shape[1] // SIDE, w1.shape[1] // SIDE
    hidden = linear(x, w1, b1, scales[0], act)
    y = linear(hidden, w2, b2, scales[1])
    at = image.expect(hidden)
    first = Product(s, f, e, image.put(as_tiles(x)), image.put(as_tiles(w1.T)), at, image.put(packed_bias(b1)))
    second = Product(s, e, f, at, image.put(as_tiles(w2.T)), image.expect(y), image.put(packed_bias(b2)))
    layer = ItaLayer(FEED_FORWARD, s, e, f=f, scales=[Scale()] * 6 + list(scales), activation=act)
    operands = {"x": x, "w1": w1, "b1": b1, "w2": w2, "b2": b2}
    return Case(
        "feed-forward",
        layer,
        operands,
        {"hidden": hidden, "y": y},
        [*product_jobs(first), *product_jobs(second)],
        image,
    )


def single_attention_case(
    q: Array, k: Array, v: Array, scales: tuple[Scale, Scale], image: Image, softmax: Softmax = SOFTMAX
) -> Case:
    s, p = q.shape[0] // SIDE, q.shape[1] // SIDE
    a, o = attend(q, k, v, *scales, softmax)
    scores_at = image.expect(a)
    scores = Product(s, s, p, image.put(as_tiles(q)), image.put(as_tiles(k)), scores_at)
    mixed = Product(s, p, s, scores_at, image.put(as_tiles(v.T)), image.expect(o))
    layer = ItaLayer(SINGLE_ATTENTION, s, 1, p, scales=[Scale()] * 3 + list(scales))
    return Case(
        "single attention", layer, {"q": q, "k": k, "v": v}, {"a": a, "o": o}, list(attended_jobs(scores, mixed)),
        image, softmax,
    )  # fmt: skip


def attention_case(x: Array, y: Array, head: Head, image: Image, softmax: Softmax = SOFTMAX) -> Case:
    s, e, p = x.shape[0] // SIDE, x.shape[1] // SIDE, head.wq.shape[1] // SIDE
    values = attention(x, y, head, softmax)
    x_at, y_at = image.put(as_tiles(x)), image.put(as_tiles(y))
    q_at, k_at, vt_at = image.expect(values.q), image.expect(values.k), image.expect(np.ascontiguousarray(values.v.T))
    a_at, o_at = image.expect(values.scores), image.expect(values.mixed)
    weights = [image.put(as_tiles(w.T)) for w in (head.wq, head.wk, head.wv, head.wo)]
    biases = [image.put(packed_bias(b)) for b in (head.bq, head.bk, head.bv, head.bo)]
    jobs = [
        *product_jobs(Product(s, p, e, x_at, weights[0], q_at, biases[0])),
        *product_jobs(Product(s, p, e, y_at, weights[1], k_at, biases[1])),
        *product_jobs(Product(p, s, e, weights[2], y_at, vt_at, biases[2], bias_per_row=True)),
        *attended_jobs(Product(s, s, p, q_at, k_at, a_at), Product(s, p, s, a_at, vt_at, o_at)),
        *product_jobs(Product(s, e, p, o_at, weights[3], image.expect(values.out), biases[3])),
    ]
    operands = {"x": x, "y": y} | {name: getattr(head, name) for name in HEAD}
    results = {"q": values.q, "k": values.k, "vt": values.v.T, "a": values.scores, "o": values.mixed, "out": values.out}
    layer = ItaLayer(ATTENTION, s, e, p, scales=list(head.scales))
    return Case("attention", layer, operands, results, jobs, image, softmax)


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    return _RANDOM[str(rng.choice(KINDS))](rng, Image(rng))


def _random_linear(rng: np.random.Generator, image: Image) -> Case:
    rows, inner, columns = (SIDE * random_tiles(rng, most) for most in (3, 8, 3))
    x, w, bias = random_bytes(rng, rows, inner), random_bytes(rng, inner, columns), random_bias(rng, columns)
    return linear_case(x, w, bias, random_scale(rng, inner), random_activation(rng), image)


def _random_feed_forward(rng: np.random.Generator, image: Image) -> Case:
    s, e, f = (SIDE * random_tiles(rng, most) for most in (2, 3, 4))
    return feed_forward_case(
        random_bytes(rng, s, e), random_bytes(rng, e, f), random_bias(rng, f), random_bytes(rng, f, e),
        random_bias(rng, e), (random_scale(rng, e), random_scale(rng, f)), random_activation(rng), image,
    )  # fmt: skip


def _random_single(rng: np.random.Generator, image: Image) -> Case:
    s, p = (SIDE * random_tiles(rng, most) for most in (4, 2))
    q, k, v = (random_bytes(rng, s, p) for _ in range(3))
    softmax = Softmax(int(rng.choice([0, 0, 5])))
    return single_attention_case(q, k, v, (random_scale(rng, p), random_scale(rng, s)), image, softmax)


def _random_attention(rng: np.random.Generator, image: Image) -> Case:
    s, e, p = (SIDE * random_tiles(rng, most) for most in (3, 3, 2))
    shapes, sizes = [(e, p)] * 3 + [(p, e)], [p, p, p, e]
    scales = [random_scale(rng, inner) for inner in (e, e, e, p, s, p)]
    weights, biases = [random_bytes(rng, *shape) for shape in shapes], [random_bias(rng, size) for size in sizes]
    head = Head(*weights, *biases, scales)
    softmax = Softmax(int(rng.choice([0, 0, 5])))
    return attention_case(random_bytes(rng, s, e), random_bytes(rng, s, e), head, image, softmax)


_RANDOM: dict[str, Callable[[np.random.Generator, Image], Case]] = {
    "linear": _random_linear,
    "feed-forward": _random_feed_forward,
    "attention": _random_attention,
    "single attention": _random_single,
}


# ---- on the device ----


@cache
def built_for_bench(name: str | Path, *flags: str, script: Path = PROGRAMS / "ita.ld") -> Path:
    """A C program of the tests, by its name or its path, linked for ita_bench."""
    key = hashlib.sha256("".join([str(name), *flags]).encode()).hexdigest()[:12]
    program = Path(_programs().name) / f"{key}.elf"
    options = ["-mcpu=generic_rv32+m+a+c", "-O2", "-g", "-gdwarf-4", "-static", "-ffreestanding", BARE]
    sources = [str(PROGRAMS / "ita_start.S"), str(PROGRAMS / name)]
    arguments = [*TARGET, *options, *flags, "-T", str(script), *sources, "-o", str(program)]
    find_compiler().run(arguments, program.parent)
    return program


@dataclass(frozen=True)
class Outcome:
    wrong: int
    """Bytes of the memory that are not what they must be."""
    cycles: list[int]
    """Of each job."""
    busy: int
    start: int
    end: int
    conflicts: int
    """Cycles that cores have waited for banks."""


def run_case(case: Case, checked: bool = False, flags: tuple[str, ...] = ()) -> Outcome:
    platform = ita_bench(ROOM, case.softmax.bits)
    with Simulator(platform) as simulator:
        if checked:
            simulator.check(misuse=True)
        simulator.load(built_for_bench("ita_jobs.c", *flags))
        simulator.probe(["main"])
        place_case(simulator, case)
        report = simulator.run(20_000_000)
        after = np.frombuffer(simulator.read(simulator.platform.memory("tcdm").base, len(case.image.after)), np.uint8)
        jobs: list[EngineJob] = simulator.jobs()
    return Outcome(
        int((after != case.image.after).sum()), [job.end - job.start for job in jobs], report.busy["ita"],
        jobs[0].start, jobs[-1].end, sum(core.stalls["conflict"] for core in report.cores),
    )  # fmt: skip


def place_case(simulator: Simulator, case: Case) -> None:
    """What the program and ITA find in memory."""
    simulator.write(simulator.platform.memory("tcdm").base, case.image.before.tobytes())
    simulator.write("jobs", len(case.words).to_bytes(4, "little"))
    simulator.write("words", np.array(case.words, "<u4").tobytes())
