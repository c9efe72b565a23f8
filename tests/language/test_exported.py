"""Decoders that were exported to ONNX with `past_key_values` give the tokens that ONNX Runtime gives with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.support import exported, talkers
from tests.support.exported import CONFIG, CONTEXT, Runtime, Style
from tests.support.float_instructions import float_instructions
from tilewright.errors import CompileError
from tilewright.language.model import LanguageModel
from tilewright.language.preparing import Quantising
from tilewright.language.reference import ReferenceSession
from tilewright.language.soc_session import SocSession
from tilewright.language.talking import Request, Said

pytestmark = pytest.mark.in_turns(8)

PROMPT, GIVEN = "A fox met", 12
SIZES = {"context": 40, "block": 4}
QUANTISING = Quantising(talkers.TEXT, learn_rounding=False, samples=3)
STYLES = {
    "rotations": Style(),
    "shared heads": Style(groups=2),
    "rotations by the mask": Style(positions="mask", where=True),
    "shared heads by the shape": Style(positions="shape", groups=2, where=True),
    "learned positions": Style(rotary=False),
    "learned positions by the mask": Style(rotary=False, positions="mask"),
    "learned positions by the shape": Style(rotary=False, positions="shape", where=True),
}


def one(style: Style) -> dict[str, onnx.ModelProto]:
    return {"model.onnx": exported.model(style)}


def pair(style: Style) -> dict[str, onnx.ModelProto]:
    return {"model.onnx": exported.model(style, has_past=False), "model_with_past.onnx": exported.model(style)}


def merged(style: Style) -> dict[str, onnx.ModelProto]:
    return {"decoder_model_merged.onnx": exported.merged(style)}


Form = Callable[[Style], dict[str, onnx.ModelProto]]


def expected(files: dict[str, onnx.ModelProto], lm: LanguageModel) -> tuple[int, ...]:
    first, *later = files.values()
    return Runtime(first, [first, *later][-1]).greedy(lm.tokenizer.encode(PROMPT), GIVEN)


def reference(lm: LanguageModel) -> tuple[int, ...]:
    events = ReferenceSession(lm.compiled).talk(Request(PROMPT.encode(), GIVEN, stops=False))
    return tuple(event.token for event in events if isinstance(event, Said))


def generated(lm: LanguageModel) -> tuple[int, ...]:
    list(lm.generate(PROMPT, GIVEN, stop=False))
    assert lm.last is not None
    return lm.last.token_ids


CASES = [*((name, one) for name in STYLES), ("rotations", merged), ("shared heads by the shape", pair)]
CASES += [("learned positions", pair), ("learned positions by the mask", merged)]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("name", "form"), CASES)
def test_tokens_are_those_of_onnxruntime(name: str, form: Form, tmp_path: Path) -> None:
    files = form(STYLES[name])
    lm = LanguageModel.load(exported.save(tmp_path, files, CONFIG)).compile(**SIZES)
    assert reference(lm) == expected(files, lm)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("style", "form"),
    [(Style(groups=2), pair), (Style(rotary=False, positions="mask"), merged), (Style(groups=2, fused=True), one)],
)
def test_c_gives_the_same_tokens(style: Style, form: Form, tmp_path: Path) -> None:
    files = form(style)
    lm = LanguageModel.load(exported.save(tmp_path, files, CONFIG)).compile(**SIZES)
    assert generated(lm) == expected(files, lm)
    assert lm.description.startswith(f"{tmp_path.name.lower()}: fox, 2 layers, width 24, vocabulary 258, ")


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("style", [Style(groups=2), Style(rotary=False), Style(groups=2, fused=True)])
def test_in_integers(style: Style, tmp_path: Path) -> None:
    """With caches of bytes, one operator for each attention, and the same tokens in Python and in C."""
    lm = LanguageModel.load(exported.save(tmp_path, one(style), CONFIG)).compile(quantise=QUANTISING, **SIZES)
    graph = lm.compiled.modes.decode.graph
    assert {graph.types[state.before].dtype for state in graph.states} == {"int8"}
    assert [node.op.kind for node in graph.nodes].count("QLinearAttention") == exported.LAYERS
    assert not [node for node in graph.nodes if graph.types[node.key].dtype == "float32"]
    assert generated(lm) == reference(lm)


@pytest.mark.in_turns(8)
def test_on_a_virtual_soc(tmp_path: Path) -> None:
    folder = exported.save(tmp_path, pair(Style(groups=2)), CONFIG)
    lm = LanguageModel.load(folder).compile("siracusa", quantise=QUANTISING, **SIZES)
    assert generated(lm) == reference(lm)
    session = lm.build()
    assert isinstance(session, SocSession)
    assert list(float_instructions(session.elf.read_bytes())) == []


# ---- what files say -------------------------------------------------------------------------------------------------


def test_a_graph_alone_says_how_large_it_is(tmp_path: Path) -> None:
    """Learned positions are as many as their table has; rotations have no end."""
    learned = LanguageModel.load(exported.save(tmp_path / "learned", one(Style(rotary=False))))
    facts = learned.decoder.facts
    assert (facts.family, facts.layers, facts.kv_heads, facts.head) == ("ONNX", 2, exported.HEADS, exported.HEAD)
    assert (facts.words, facts.width, facts.context) == (exported.WORDS, exported.WIDTH, CONTEXT)
    assert (facts.begin, facts.ends) == (None, ())
    turned = LanguageModel.load(exported.save(tmp_path / "turned", one(Style(groups=2))) / "model.onnx")
    assert turned.decoder.facts.kv_heads == 2
    assert turned.decoder.facts.context > 10_000
    assert turned.usual_context == 512
    fused = LanguageModel.load(exported.save(tmp_path / "fused", one(Style(groups=2, fused=True))))
    assert fused.decoder.facts.context == CONTEXT


def test_a_table_of_positions_in_a_branch(tmp_path: Path) -> None:
    lm = LanguageModel.load(exported.save(tmp_path, merged(Style(rotary=False))))
    assert lm.decoder.facts.context == CONTEXT


def test_a_table_with_rows_before_the_first_position(tmp_path: Path) -> None:
    """As OPT has two: the context is shorter than the table."""

    def later(graph: onnx.GraphProto) -> None:
        table = next(one.name for one in graph.initializer if list(one.dims) == [CONTEXT, exported.WIDTH])
        node = next(node for node in graph.node if table in node.input)
        graph.initializer.append(numpy_helper.from_array(np.array(2), "two"))
        graph.node.insert(0, helper.make_node("Add", ["position_ids", "two"], ["later"]))
        node.input[1] = "later"

    lm = LanguageModel.load(exported.save(tmp_path, changed(later, Style(rotary=False))))
    assert lm.decoder.facts.context == CONTEXT - 2
    assert lm.compile(context=CONTEXT - 2, block=4).compiled.context == CONTEXT - 2
    with pytest.raises(CompileError, match="asks for row 65 of a table of 64\n  hint: choose a context of at most 62"):
        lm.decoder.graph(61, CONTEXT)


def test_files_beside_it_are_read(tmp_path: Path) -> None:
    inner = {"model": {"context_length": 50, "bos_token_id": 256, "eos_token_id": [257, 3], "type": "fox"}}
    folder = exported.save(tmp_path, {"onnx/model.onnx": exported.model(Style())})
    (folder / "genai_config.json").write_text(str(inner).replace("'", '"'))
    for path in (folder, folder / "onnx/model.onnx"):
        facts = LanguageModel.load(path).decoder.facts
        assert (facts.family, facts.context, facts.begin, facts.ends) == ("fox", 50, 256, (257, 3))


def test_positions_behind_the_calibrated_ones(tmp_path: Path) -> None:
    """Tables reach to the end of the context."""
    files = one(Style(rotary=False, groups=2))
    lm = LanguageModel.load(exported.save(tmp_path, files, CONFIG)).compile(context=CONTEXT, block=4)
    ids = lm.tokenizer.encode(PROMPT)
    count = CONTEXT - len(ids)
    events = ReferenceSession(lm.compiled).talk(Request(PROMPT.encode(), count, stops=False))
    found = tuple(event.token for event in events if isinstance(event, Said))
    assert found == Runtime(*[*files.values()] * 2).greedy(ids, count)


# ---- refusals -------------------------------------------------------------------------------------------------------


def refusal(folder: Path) -> str:
    with pytest.raises(CompileError) as found:
        LanguageModel.load(folder)
    return str(found.value).replace(str(folder), "FOLDER")


def changed(change: Callable[[onnx.GraphProto], None], style: Style | None = None) -> dict[str, onnx.ModelProto]:
    made = exported.model(style or Style())
    change(made.graph)
    return {"model.onnx": made}


def without(values: object, name: str) -> None:
    kept = [value for value in values if value.name != name]  # type: ignore[attr-defined]
    del values[:]  # type: ignore[attr-defined]
    values.extend(kept)  # type: ignore[attr-defined]


def sized(graph: onnx.GraphProto, name: str, axis: int, size: int | str) -> None:
    value = next(one for one in graph.input if one.name == name)
    dim = value.type.tensor_type.shape.dim[axis]
    dim.Clear()
    if isinstance(size, int):
        dim.dim_value = size
    else:
        dim.dim_param = size


def sized_axes(graph: onnx.GraphProto, name: str, *sizes: int | str) -> None:
    value = next(one for one in graph.input if one.name == name)
    value.CopyFrom(exported.value(name, exported.INT64, *sizes))


KEY = "past_key_values.1.key"
CHANGES: dict[str, tuple[Callable[[onnx.GraphProto], None], str]] = {
    "no output": (
        lambda graph: without(graph.output, "present.1.key"),
        f"input '{KEY}': has no matching output, which holds its keys or values and those of new tokens",
    ),
    "no input": (
        lambda graph: graph.output.append(exported.value("present.7.key", exported.FLOAT, 1, 4, "past", 16)),
        "output 'present.7.key': has no matching input, which takes it in the next call",
    ),
    "a fixed number of tokens": (
        lambda graph: sized(graph, "input_ids", 1, 1), "input 'input_ids': axis 1 (tokens) is fixed at 1",
    ),
    "a cache of fixed size": (
        lambda graph: sized(graph, KEY, 2, 32), f"input '{KEY}': no axis is dynamic: [batch_size, 4, 32, 16]",
    ),
    "heads that nobody knows": (
        lambda graph: sized(graph, KEY, 1, "heads"),
        f"input '{KEY}': its layout is not understood: axes 1, 2 of [batch_size, heads, past_sequence_length, 16]",
    ),
    "several texts": (
        lambda graph: sized(graph, KEY, 0, 2), f"input '{KEY}': axis 0 (batch) is fixed at 2",
    ),
    "another input": (
        lambda graph: graph.input.append(exported.value("pixel_values", exported.FLOAT, 1, 3)),
        "has inputs that a text decoder does not have: 'pixel_values'",
    ),
    "positions of pictures": (
        lambda graph: sized_axes(graph, "position_ids", 3, "batch_size", "sequence_length"),
        "input 'position_ids': has 3 axes",
    ),
    "no tokens": (
        lambda graph: without(graph.input, "input_ids"), "has no input 'input_ids' for the token numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_not_recognised_is_named(name: str, tmp_path: Path) -> None:
    change, what = CHANGES[name]
    assert what in refusal(exported.save(tmp_path, changed(change), CONFIG))


def test_a_network_that_is_no_language_model_gets_a_hint_that_says_what_one_is(tmp_path: Path) -> None:
    folder = exported.save(tmp_path, changed(lambda graph: without(graph.input, "input_ids")), CONFIG)
    with pytest.raises(CompileError) as raised:
        LanguageModel.load(folder)
    assert "a language model is a folder" in raised.value.hint
    assert "the inputs of this network are '" in raised.value.hint


def weight(graph: onnx.GraphProto, name: str, values: np.ndarray) -> None:
    tensor = next(one for one in graph.initializer if one.name == name)
    tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float32), name))


def head_name(graph: onnx.GraphProto) -> str:
    return next(node.input[1] for node in graph.node if "logits" in node.output)


def test_graphs_of_two_models_are_no_pair(tmp_path: Path) -> None:
    files = pair(Style())
    graph = files["model_with_past.onnx"].graph
    weight(graph, head_name(graph), np.ones((exported.WIDTH, exported.WORDS)))
    said = refusal(exported.save(tmp_path, files, CONFIG))
    assert "model_with_past.onnx: logits of token 4, read behind those of the past, differ by" in said
    assert "both graphs must be exports of one model" in said


def test_a_pair_needs_a_past(tmp_path: Path) -> None:
    files = {"model.onnx": exported.model(Style()), "model_with_past.onnx": exported.model(Style(), has_past=False)}
    assert "model_with_past.onnx: has no inputs past_key_values" in refusal(exported.save(tmp_path, files, CONFIG))


def test_scores_of_the_last_token_alone_are_refused(tmp_path: Path) -> None:
    def last_token(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            node.output[:] = ["all" if name == "logits" else name for name in node.output]
        graph.initializer.append(numpy_helper.from_array(np.array([-1]), "last"))
        graph.node.append(helper.make_node("Gather", ["all", "last"], ["logits"], "chosen", axis=1))

    said = refusal(exported.save(tmp_path, changed(last_token), CONFIG))
    assert "depends on the number of tokens in a way that is not understood" in said
    assert "export the logits of all tokens" in said


def test_a_window_is_refused(tmp_path: Path) -> None:
    """Tokens that are too far behind are hidden."""

    def window(graph: onnx.GraphProto) -> None:
        at, node = next((at, node) for at, node in enumerate(graph.node) if node.op_type == "LessOrEqual")
        (seen,) = node.output
        node.output[:] = ["not_later"]
        graph.initializer.append(numpy_helper.from_array(np.array(20), "window"))
        far = helper.make_node("Sub", [node.input[1], "window"], ["far"])
        near = helper.make_node("Greater", [node.input[0], "far"], ["near"])
        both = helper.make_node("And", ["not_later", "near"], [seen])
        for new in (both, near, far):
            graph.node.insert(at + 1, new)

    said = refusal(exported.save(tmp_path, changed(window), CONFIG))
    assert "has a sliding window of 20 of 62 tokens, which is not supported" in said


def test_attention_that_is_something_else_is_named(tmp_path: Path) -> None:
    def sharpened(graph: onnx.GraphProto) -> None:
        at, node = next((at, node) for at, node in enumerate(graph.node) if node.op_type == "Softmax")
        squared = helper.make_node("Mul", [node.input[0], node.input[0]], ["squared"])
        node.input[:] = ["squared"]
        graph.node.insert(at, squared)

    assert "(Softmax): is part of an attention that is not recognised" in refusal(
        exported.save(tmp_path, changed(sharpened), CONFIG)
    )


def test_which_of_many_files_is_meant(tmp_path: Path) -> None:
    files = {name: exported.model(Style()) for name in ("a.onnx", "b.onnx", "c.onnx")}
    folder = exported.save(tmp_path, files, CONFIG)
    assert "has 3 ONNX files, of which none is known: a.onnx, b.onnx, c.onnx" in refusal(folder)
    assert LanguageModel.load(folder / "b.onnx").name == "b"


def test_tokens_that_the_graph_has_not(tmp_path: Path) -> None:
    folder = exported.save(tmp_path, one(Style()), CONFIG | {"eos_token_id": 500})
    assert "token 500 is a BOS or EOS token, but the graph has logits for 258 tokens" in refusal(folder)
