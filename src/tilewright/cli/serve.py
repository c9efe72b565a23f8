"""`tilewright serve`: a language model behind OpenAI's HTTP protocol, on this machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tilewright.cli.chat import HostTarget, Template, opened
from tilewright.cli.generate import Activations, Block, Cache, Checkpoint, Context, Sizes, TokenizerFile
from tilewright.cli.options import Cc
from tilewright.cli.process import AGREES
from tilewright.errors import printable

Host = Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is all of this machine's.")]
Port = Annotated[int, typer.Option("--port", help="Port to listen at; 0 takes a free one.")]
Alias = Annotated[str, typer.Option("--model-name", help="What clients call the model; MODEL's name by default.")]
Contexts = Annotated[
    int,
    typer.Option("--contexts", min=1, help="Number of conversations to keep, so that their texts are not read again."),
]
Waiting = Annotated[
    int, typer.Option("--queue", min=1, help="Requests that may wait; further clients are told to retry.")
]


def serve(
    model: Checkpoint, planning: Sizes, target: HostTarget = "cpu", host: Host = "127.0.0.1", port: Port = 8080,
    model_name: Alias = "", chat_template: Template = None, contexts: Contexts = 2, queue: Waiting = 64,
    context: Context = None, block: Block = 16, tokenizer: TokenizerFile = None, activations: Activations = None,
    cache: Cache = None, cc: Cc = None,
) -> int:  # fmt: skip
    """Serve a language model: /v1/chat/completions, /v1/completions, /v1/models and /health."""
    from tilewright.frontends.checkpoint.reading import refuse_graph
    from tilewright.serving.run import Offer, bound, check_installed, run

    refuse_graph(model)
    check_installed()
    with bound(host, port) as place:
        sizes = {"context": context, "block": block, "activations": activations, "cache": cache}
        lm = opened(model, planning, tokenizer, target, cc=cc, **sizes)
        name = model_name or lm.name
        at = f"http://{host}:{place.getsockname()[1]}/v1"

        def tell() -> None:
            print(printable(f"{lm.description}\n{name} at {at}; Ctrl-C ends"), file=sys.stderr, flush=True)

        run(lm, place, Offer(name, chat_template, contexts, queue), tell)
    return AGREES
