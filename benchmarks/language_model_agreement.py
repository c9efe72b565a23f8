"""Whether a quantised model gives the same text everywhere: python benchmarks/language_model_agreement.py MODEL TEXT

Each of 20 prompts, with three seeds (the first greedy): the tokens of the program on this machine and of the one on the
virtual SoC against those of the reference in Python. Tokens, not letters: one that differs counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tilewright.language.model import LanguageModel
from tilewright.language.reference import ReferenceSession
from tilewright.language.sampler import Sampling
from tilewright.language.talking import Request, Said, Session

PROMPTS = (
    "Once upon a time", "The little dog", "Lily wanted to", "One day, a boy named Tim", "", "The", "A", "Mom said",
    "It was a sunny day and", "There was a big", "He was sad because", "\"Hello!\" said the cat.", "Tom and Sue",
    "The bird flew over the", "She found a red ball in the park and took it home to her", "Why?", "1 2 3",
    "\u00e9t\u00e9",
    "Ben likes to play with his toy car. He has a red car, a blue car and a green car. He makes them go fast and slow.",
    "The sun was hot. The sea was cold.\n\nAnna",
)  # fmt: skip
SAMPLINGS = (Sampling(), Sampling(0.8, 40, 0.95, 1.1, seed=1), Sampling(1.0, seed=2))


def tokens(session: Session, prompt: str, sampling: Sampling, count: int) -> list[int]:
    events = session.talk(Request(prompt.encode(), count, sampling))
    return [event.token for event in events if isinstance(event, Said)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--targets", nargs="+", default=["generic", "siracusa"])
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--weight-bits", type=int, default=8)
    given = parser.parse_args()
    models = {target: LanguageModel.load(given.model) for target in given.targets}
    for target, lm in models.items():
        lm.compile(target, context=given.context, quantise=given.text, weight_bits=given.weight_bits)
    reference = ReferenceSession(models[given.targets[0]].compiled)
    wanted = {(p, s): tokens(reference, p, s, given.tokens) for p in PROMPTS for s in SAMPLINGS}
    agrees = True
    for target, lm in models.items():
        start, session = time.perf_counter(), lm.build()
        differ = [key for key, expected in wanted.items() if tokens(session, *key, given.tokens) != expected]
        count = sum(map(len, wanted.values()))
        took = time.perf_counter() - start
        print(f"{target}: {len(wanted) - len(differ)} of {len(wanted)} texts agree ({count} tokens, {took:.0f} s)")
        for prompt, sampling in differ:
            print(f"  differs: {prompt!r}, {sampling}")
        agrees = agrees and not differ
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
