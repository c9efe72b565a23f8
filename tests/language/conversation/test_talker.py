"""Answers, where they end, and what of a conversation is not read again."""

from __future__ import annotations

import pytest

from tests.support.parrots import Parrot, said, talker, words
from tilewright.errors import CompileError
from tilewright.language.conversation.memory import Memory
from tilewright.language.conversation.speaking import Asked
from tilewright.language.conversation.talker import Reply, Talker
from tilewright.language.generation import CONTEXT, END, STOP, TOKENS
from tilewright.language.sampler import Sampling
from tilewright.language.text.stop_words import StopWords, stop_words

pytestmark = pytest.mark.fast

HELLO = [said("user", "Hello")]


def answer(someone: Talker, tokens: int = 20, *stops: str, **sampling: float) -> Reply:
    return someone.answer(HELLO, Asked(tokens, Sampling(**sampling)), stops)  # type: ignore[arg-type]


def test_pieces_and_the_whole_answer() -> None:
    someone = talker()
    reply = answer(someone)
    pieces = list(reply)
    assert len(pieces) == 20
    assert "".join(pieces) == reply.text == reply.so_far == answer(someone).text
    assert (reply.stopped, reply.tokens, reply.prompt_tokens, reply.reused_tokens) == (TOKENS, 20, 24, 0)


def test_the_same_seed_gives_the_same_answer() -> None:
    one, other = (answer(talker(), temperature=1.5, seed=3, min_p=0.1).text for _ in range(2))
    assert one == other != answer(talker(), temperature=1.5, seed=4).text


def test_an_answer_ends_at_a_token() -> None:
    someone = talker()
    text = answer(someone).text
    place = next(i for i in range(5, 20) if text[i] not in text[:i])
    reply = someone.answer(HELLO, Asked(50, Sampling(), frozenset({ord(text[place])})))
    assert (reply.text, reply.stopped, reply.tokens) == (text[:place], END, place + 1)


def test_an_answer_ends_before_a_stop_word() -> None:
    someone = talker()
    text = answer(someone).text
    reply = answer(someone, 20, "nothing", text[4:7], text[3:9])
    assert (reply.text, reply.stopped, reply.tokens) == (text[:4], STOP, 7)
    assert answer(someone, 20, text[-1] + "more").text == text


def test_an_answer_ends_where_the_context_does() -> None:
    reply = answer(talker(context=30), 100)
    assert len(reply.text) == 6
    assert reply.stopped == CONTEXT


def test_a_conversation_is_read_from_where_it_differs() -> None:
    someone = talker()
    first = answer(someone).text
    longer = [*HELLO, said("assistant", first), said("user", "And?")]
    reply = someone.answer(longer, Asked(5, Sampling()))
    text = reply.text
    assert reply.reused_tokens == 24 + 19
    assert text == talker().answer(longer, Asked(5, Sampling())).text
    other = someone.answer([said("user", "Help")], Asked(5, Sampling()))
    assert other.text == talker().answer([said("user", "Help")], Asked(5, Sampling())).text
    assert other.reused_tokens == len("|[user]Hel")


def test_in_chunks_what_was_read_before_does_not_show() -> None:
    """Each read is of the same size at the same place, whether there was something before or not."""
    someone, sizes = talker(chunk=8), []
    for content in ("Hello", "Hello, who is there?", "Hello, who is where?", "x", "Hello, who is there?"):
        parrot = someone.memory.session
        assert isinstance(parrot, Parrot)
        parrot.calls.clear()
        alone = talker(chunk=8)
        for one in (someone, alone):
            assert one.answer([said("user", content)], Asked(9, Sampling())).text
        fresh = alone.memory.session
        assert isinstance(fresh, Parrot)
        assert parrot.calls == fresh.calls[len(fresh.calls) - len(parrot.calls) :]
        assert parrot.tokens == fresh.tokens
        sizes.append(len(fresh.calls) - len(parrot.calls))
    assert sizes == [0, 1, 2, 0, 0]


def test_a_read_that_was_interrupted_is_forgotten() -> None:
    someone = talker()
    text = answer(someone).text
    someone.memory.session.read([5])
    reply = answer(someone)
    assert reply.text == text
    assert reply.reused_tokens == 0


def test_the_penalty_counts_what_was_not_read_again() -> None:
    someone = talker()
    reply = someone.answer(HELLO, Asked(20, Sampling(penalty=64.0)))
    assert reply.text == someone.answer(HELLO, Asked(20, Sampling(penalty=64.0))).text
    assert not set("user") & set(reply.text)


def test_an_older_answer_does_not_go_on_in_a_context_that_has_another() -> None:
    someone = talker()
    old, new = answer(someone), answer(someone)
    next(iter(old))
    next(iter(new))
    with pytest.raises(CompileError, match="another one was begun in the same context"):
        list(old)
    assert len(new.text) == 20


def test_a_saved_state_goes_on() -> None:
    someone = talker()
    text = answer(someone).text
    again = talker()
    again.memory.restore(someone.memory.save())
    reply = answer(again)
    assert (reply.text, reply.reused_tokens) == (text, 23)
    for state in (b"", b"tilewright memory 1\n", someone.memory.save()[:30], b"x" * 100):
        with pytest.raises(CompileError, match="is no saved state"):
            again.memory.restore(state)
    with pytest.raises(CompileError, match="contradicts itself"):
        again.memory.restore(someone.memory.save().replace(b"][256", b"][1,256"))


def test_prompts_that_are_refused() -> None:
    memory = Memory(Parrot(10))
    for tokens, what in (([], "is empty"), ([1] * 10, "has 10 tokens; a context of 10 holds 9"), ([258], "token 258")):
        with pytest.raises(CompileError, match=what):
            next(memory.prompt(tokens))
    with pytest.raises(CompileError, match="has no chat template"):
        words(None).prompt(HELLO)


# ---- stop words ---------------------------------------------------------------------------------------------------


def test_what_may_become_a_stop_word_is_held_back() -> None:
    stops = StopWords(["\n\nUser:", "###"])
    given = [stops.passed(piece) for piece in ("a\n", "\nUs", "e", "d#", "#", " b", "\n\n", "User", ": c", "d")]
    assert given == ["a", "", "", "\n\nUsed", "", "## b", "", "", "", ""]
    assert stops.found == "\n\nUser:"
    assert stops.rest() == ""
    open_end = StopWords(["abc"])
    assert (open_end.passed("xab"), open_end.rest(), open_end.found) == ("x", "ab", "")
    assert StopWords([]).passed("all") == "all"


@pytest.mark.parametrize("given", [3, {"a": 1}, [3], [""], ["a"] * 17, ["a" * 1001]])
def test_stop_words_that_are_refused(given: object) -> None:
    with pytest.raises(CompileError, match="stop word"):
        stop_words(given)  # type: ignore[arg-type]
    assert stop_words(None) == ()
    assert stop_words("a") == ("a",)
