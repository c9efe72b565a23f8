"""The server as clients meet it: answers whole and in pieces, many at once, and whatever clients do wrong."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.parrots import said, talker
from tests.support.server import CHUNK, Client, SlowParrot, served, slow
from tilewright.errors import CompileError
from tilewright.language.conversation.speaking import Asked
from tilewright.language.sampler import Sampling
from tilewright.serving.run import bound

CHAT, COMPLETE = "/v1/chat/completions", "/v1/completions"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served([talker(CHUNK), talker(CHUNK)]) as found:
        yield found


def asking(content: str, **more: Any) -> dict[str, Any]:
    return {"model": "parrot", "messages": [said("user", content)], "temperature": 0, "max_tokens": 12, **more}


def alone(content: str, **sampling: Any) -> str:
    return talker(CHUNK).answer([said("user", content)], Asked(12, Sampling(**sampling))).text


def test_a_whole_answer(client: Client) -> None:
    status, found = client.ask(CHAT, asking("Hello"))
    assert status == 200
    assert found["object"] == "chat.completion"
    (choice,) = found["choices"]
    assert choice["message"] == {"role": "assistant", "content": alone("Hello"), "refusal": None}
    assert choice["finish_reason"] == "length"
    assert found["usage"]["prompt_tokens"] == 24
    assert found["usage"]["total_tokens"] == 36


def test_an_answer_in_pieces(client: Client) -> None:
    first, *pieces, last, used = client.stream(CHAT, asking("Hello", stream_options={"include_usage": True}))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(one["choices"][0]["delta"]["content"] for one in pieces) == alone("Hello")
    assert last["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}
    assert (used["choices"], used["usage"]["completion_tokens"]) == ([], 12)
    assert {one["id"] for one in (first, *pieces, last, used)} == {first["id"]}


def test_a_seed_a_stop_word_and_other_settings(client: Client) -> None:
    text = alone("Hi", temperature=1.3, seed=7, top_k=5, min_p=0.1, penalty=1.2)
    more = {"temperature": 1.3, "seed": 7, "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.2}
    _, found = client.ask(CHAT, asking("Hi", stop=[text[6:8]], user="me", n=1, **more))
    assert found["choices"][0]["message"]["content"] == text[: text.index(text[6:8])]
    assert found["choices"][0]["finish_reason"] == "stop"


def test_of_two_names_of_a_limit_the_newer_one_counts(client: Client) -> None:
    _, found = client.ask(CHAT, asking("Hello", max_completion_tokens=3))
    assert found["usage"]["completion_tokens"] == 3


def test_completions(client: Client) -> None:
    _, found = client.ask(COMPLETE, {"prompt": "Once", "temperature": 0})
    assert (found["object"], len(found["choices"][0]["text"]), found["usage"]["prompt_tokens"]) == (
        "text_completion",
        16,
        5,
    )
    tokens = [256, *b"Once"]
    for prompt in (tokens, [tokens], ["Once"]):
        assert client.ask(COMPLETE, {"prompt": prompt, "temperature": 0})[1]["choices"] == found["choices"]
    pieces = client.stream(COMPLETE, {"prompt": "Once", "temperature": 0})
    assert "".join(one["choices"][0]["text"] for one in pieces) == found["choices"][0]["text"]


def test_json_of_a_schema(client: Client) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "boolean"}},
        "required": ["a", "b"],
    }
    form = {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, "strict": True}}
    _, found = client.ask(CHAT, asking("Hi", max_tokens=150, response_format=form))
    assert json.loads(found["choices"][0]["message"]["content"]).keys() == {"a", "b"}
    assert found["choices"][0]["finish_reason"] == "stop"
    _, other = client.ask(CHAT, asking("Hi", max_tokens=5, response_format={"type": "json_object"}))
    assert other["choices"][0]["message"]["content"].lstrip().startswith("{")


def test_models_and_health(client: Client) -> None:
    assert client.ask("/health") == (200, {"status": "ok", "model": "parrot", "waiting": 0})
    _, found = client.ask("/v1/models")
    assert [one["id"] for one in found["data"]] == ["parrot"]
    assert client.ask("/v1/models/parrot")[1] == found["data"][0]


def test_twenty_clients_at_once_lose_nothing(client: Client) -> None:
    """Each is told what it is told alone, whoever was there before."""
    contents = [f"{'Hello there, ' * (number % 3)}number {number % 7}" for number in range(20)]

    def answer(number: int) -> str:
        asked = asking(contents[number], temperature=0.8, seed=number)
        if number % 2:
            return str(client.ask(CHAT, asked)[1]["choices"][0]["message"]["content"])
        return "".join(one["choices"][0]["delta"].get("content", "") for one in client.stream(CHAT, asked))

    with ThreadPoolExecutor(20) as clients:
        found = list(clients.map(answer, range(20)))
    assert found == [alone(content, temperature=0.8, seed=number) for number, content in enumerate(contents)]


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_goes_ends_its_answer(streams: bool) -> None:
    talkers = slow(seconds=0.01)
    parrot = talkers[0].memory.session
    assert isinstance(parrot, SlowParrot)
    with served(talkers) as client, socket.create_connection(("127.0.0.1", client.port)) as connection:
        body = json.dumps(asking("Hello", max_tokens=300, stream=streams)).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body)
        while parrot.length < 26:
            time.sleep(0.002)
        connection.close()
        assert client.ask(CHAT, asking("Hi"))[0] == 200
        assert parrot.calls.index((CHUNK, CHUNK), 2) < 150  # Where the second one began to be read.


def test_more_than_may_wait_are_told_to_come_again() -> None:
    talkers, go = slow(), threading.Event()
    parrot = talkers[0].memory.session
    parrot.read = lambda tokens, read=parrot.read: (go.wait(5), read(tokens))[1]  # type: ignore[method-assign, misc]
    with served(talkers, waiting=1) as client, ThreadPoolExecutor(2) as others:
        first = others.submit(client.ask, CHAT, asking("one"))
        while client.ask("/health")[1]["waiting"] or not first.running():
            time.sleep(0.002)
        time.sleep(0.05)
        second = others.submit(client.ask, CHAT, asking("two"))
        while not client.ask("/health")[1]["waiting"]:
            time.sleep(0.002)
        refused = client.open(CHAT, asking("three"))
        go.set()
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
        assert json.loads(refused.read())["error"]["code"] == "queue_full"
        assert (first.result()[0], second.result()[0]) == (200, 200)


@pytest.mark.parametrize(
    ("path", "body", "status", "param", "what"),
    [
        (CHAT, b"{", 400, None, "the body is no JSON"),
        (CHAT, b"\xff\xfe", 400, None, "the body is no JSON"),
        (CHAT, b"[" * 100000, 400, None, "the body is no JSON"),
        (CHAT, [], 400, None, "a JSON list, not an object"),
        (CHAT, {}, 400, "messages", "messages is missing"),
        (CHAT, asking("a", model="gpt"), 404, "model", "there is no model 'gpt': this is 'parrot'"),
        (CHAT, asking("a", model=3), 400, "model", "is of type int"),
        (CHAT, {"messages": "a"}, 400, "messages", "is of type str"),
        (CHAT, {"messages": []}, 400, "messages", "messages: are 0"),
        (CHAT, {"messages": [{"role": "boss", "content": ""}]}, 400, "messages", "is 'boss'"),
        (CHAT, asking("a" * 400), 400, "messages", "the prompt has 419 tokens; a context of 400"),
        (CHAT, asking("a", temperature="hot"), 400, "temperature", "is of type str"),
        (CHAT, asking("a", temperature=True), 400, "temperature", "is of type bool"),
        (CHAT, asking("a", temperature=-1), 400, "temperature", "must be from 0 to 100"),
        (CHAT, asking("a", max_tokens=0), 400, "max_tokens", "give 1 or more"),
        (CHAT, asking("a", stop=[""]), 400, "stop", "has 0 characters"),
        (CHAT, asking("a", stream="yes"), 400, "stream", "is of type str"),
        (CHAT, asking("a", n=2), 400, "n", "n 2 is not supported"),
        (CHAT, asking("a", tools=[{}]), 400, "tools", "is not supported"),
        (CHAT, asking("a", temprature=1), 400, "temprature", "unknown field"),
        (CHAT, asking("a") | {"\ud800": 1}, 400, r"\ud800", "unknown field"),
        (CHAT, asking("a") | {"x" * 10_000: 1}, 400, "x" * 80, "unknown field"),
        (CHAT, asking("a", response_format={"type": "xml"}), 400, "response_format", "'xml' is not supported"),
        (
            CHAT,
            asking("a", response_format={"type": "json_schema", "json_schema": {"schema": {"not": {}}}}),
            400,
            "response_format",
            "'not' alone is not supported",
        ),
        (COMPLETE, {"prompt": [1, "a"]}, 400, "prompt", "not of tokens from 0 to 257"),
        (COMPLETE, {"prompt": 3}, 400, "prompt", "is of type int"),
        (COMPLETE, {"prompt": [999]}, 400, "prompt", "not of tokens"),
        (COMPLETE, {"prompt": []}, 400, "prompt", "the prompt is empty: give a text"),
        ("/v1/nothing", {}, 404, None, "POST /v1/nothing is not known here"),
        ("/health", {}, 405, None, "POST /health is not known here"),
        (CHAT, None, 405, None, "GET /v1/chat/completions is not known here"),
        ("/v1/models/gpt", None, 404, "model", "there is no model 'gpt'"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(client: Client, path: str, body: Any, status: int, param: str | None, what: str) -> None:
    found, told = client.ask(path, body)
    assert (found, told["error"]["param"]) == (status, param)
    assert what in told["error"]["message"]
    assert told["error"]["type"]


def test_what_is_no_http_leaves_the_server_alive(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    for data in (
        b"\x00\x01\x02\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", client.port), timeout=20) as connection:
            connection.sendall(data)
            assert connection.recv(1000).startswith(b"HTTP/1.1 4")
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert client.ask("/health")[0] == 200
    assert "Traceback" not in caplog.text


def test_a_body_without_end_is_refused(client: Client) -> None:
    answer = client.open(COMPLETE, b'{"prompt": "' + b"a" * (17 << 20))
    assert answer.status == 413
    assert "more than 16777216 bytes" in json.loads(answer.read())["error"]["message"]


def test_a_fault_in_one_answer_is_not_the_next_one_s() -> None:
    talkers = slow()
    parrot = talkers[0].memory.session
    with served(talkers) as client:
        parrot.choose = lambda: 1 // 0  # type: ignore[method-assign]
        status, told = client.ask(CHAT, asking("Hello"))
        assert (status, told["error"]["type"]) == (500, "server_error")
        assert client.stream(CHAT, asking("Hello"))[-1]["error"]["message"].startswith("this is a fault of Tilewright")
        del parrot.choose
        assert client.ask(CHAT, asking("Hello"))[1]["choices"][0]["message"]["content"] == alone("Hello")


def test_a_port_in_use_is_one_clear_error() -> None:
    with bound("127.0.0.1", 0) as place:
        port = place.getsockname()[1]
        with pytest.raises(CompileError, match="is in use by another program") as refused:
            bound("127.0.0.1", port)
        assert refused.value.where == f"127.0.0.1:{port}"
    for host, port in (("203.0.113.1", 80), ("no such host.invalid", 80), ("127.0.0.1", 99999)):
        with pytest.raises(CompileError, match=r"cannot listen there|is no address"):
            bound(host, port)


# ---- a client that people use -------------------------------------------------------------------------------------


@pytest.mark.in_turns(3)
def test_the_client_of_openai(client: Client) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"http://127.0.0.1:{client.port}/v1", api_key="none", max_retries=0) as api:
        assert [one.id for one in api.models.list()] == ["parrot"]
        asked = {
            "model": "parrot",
            "messages": [{"role": "user", "content": "Hello"}],
            "temperature": 0,
            "max_tokens": 12,
        }
        assert api.chat.completions.create(**asked).choices[0].message.content == alone("Hello")
        chunks = list(api.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
        assert "".join(one.choices[0].delta.content or "" for one in chunks if one.choices) == alone("Hello")
        assert chunks[-1].usage.completion_tokens == 12
        with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'"):
            api.chat.completions.create(**{**asked, "model": "gpt"})
        with pytest.raises(openai.BadRequestError, match="context of 400"):
            api.chat.completions.create(**{**asked, "messages": [{"role": "user", "content": "a" * 400}]})
        assert len(api.completions.create(model="parrot", prompt="Once", temperature=0).choices[0].text) == 16
