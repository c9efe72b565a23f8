"""`lm.chat` with a model that is built: what is said, kept and restored."""

from __future__ import annotations

import pytest

from tests.support import talkers
from tests.support.parrots import said
from tilewright.errors import CompileError
from tilewright.language.conversation.speaking import Asked
from tilewright.language.model import LanguageModel
from tilewright.language.sampler import Sampling


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = talkers.save(tmp_path_factory.mktemp("talkers") / "fox")
    (folder / "chat_template.jinja").write_text("{{ messages[-1].content }}")
    return LanguageModel.load(folder).compile(context=40, block=4)


@pytest.mark.in_turns(8)
def test_a_model_answers(model: LanguageModel) -> None:
    asked = [said("user", "A fox met")]
    reply = model.chat(asked, 5)
    assert "".join(reply) == reply.text
    again = model.chat(asked, 5)
    assert (again.text, again.reused_tokens) == (reply.text, len("A fox met") - 1)
    own = model.path / "own.jinja"
    own.write_text("Now: {{ messages[-1].content }}")
    other = model.chat(asked, 5, template=own)
    assert (len(other.text) > 0, other.prompt_tokens) == (True, len("Now: A fox met"))
    assert model.chat(asked, 5, template=own).text == other.text


def test_a_saved_state_goes_on(model: LanguageModel) -> None:
    one, other = model.talker(), model.talker()
    asked = [said("user", "What a fine day")]
    text = one.answer(asked, Asked(8, Sampling())).text
    other.memory.restore(one.memory.save())
    reply = other.answer(asked, Asked(8, Sampling()))
    assert (reply.text, reply.reused_tokens) == (text, len("What a fine day") - 1)
    state = one.memory.save()
    for damaged in (state[:-1], state + b"x", state[:60]):
        with pytest.raises(CompileError, match="damaged"):
            other.memory.restore(damaged)
