import json

import pytest

from tilewright.report.page.key_words import meaning_of, with_unit
from tilewright.report.page.words import in_figure, in_html, in_script, lines_in_figure, numbered, sentence, shortened

pytestmark = pytest.mark.fast

NASTY = "</script><!--&\u2028\x1b[31m'\""


def test_json_in_a_script_has_nothing_that_ends_it() -> None:
    text = in_script({NASTY: [NASTY]})
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == {NASTY: [NASTY]}


def test_html_has_no_markup_of_names() -> None:
    assert in_html('<a href="x">\'&') == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;"
    assert in_html("\x1b[31m") == "\\x1b[31m"


def test_figures_have_lines_of_their_own_only() -> None:
    assert in_figure("<br>\n&") == "&lt;br&gt; &amp;"
    assert lines_in_figure(["<i>", "", "two"]) == "<b>&lt;i&gt;</b><br>two"


def test_the_beginning_and_the_end_of_a_name_are_kept() -> None:
    assert shortened("model/block1/conv", 8) == "mode…onv"
    assert shortened("conv", 8) == "conv"


def test_numbers_of_layers_are_kept() -> None:
    assert numbered("10 model/block1/conv", 11) == "10 mode…onv"
    assert numbered("(model/block1)", 8) == "(mod…k1)"


def test_notes_are_sentences() -> None:
    assert sentence("cycles are few; `run` <estimates> those") == (
        "Cycles are few; <code>run</code> &lt;estimates&gt; those."
    )
    assert sentence("l2_private has 3 bytes.") == "l2_private has 3 bytes."


def test_keys_are_words_on_a_page_and_stand_in_the_tooltip() -> None:
    said = ("bytes.L1", "planned_ram_bytes", "parameter.cycles_per_mac", "memory.l2", "energy_uj", "milliseconds")
    assert [with_unit(key) for key in said] == [
        "bytes in L1", "planned RAM", "cycles per mac", "size of L2", "energy (uJ)", "time (ms)",
    ]  # fmt: skip
    assert meaning_of("bytes.L1").endswith("in the tables: bytes.L1")
    assert meaning_of("cores") == ""
