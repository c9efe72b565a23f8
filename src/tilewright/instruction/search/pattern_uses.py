"""What patterns of kernels would save, estimated from what hot blocks do: their data lie otherwise then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tilewright.instruction.search.blocks import Block
from tilewright.instruction.search.decoded import Kind
from tilewright.instruction.search.decoding import BYTE_LOADS

TOGETHER = 4
"""Bytes of a word."""
WIDE_PRODUCT = ("mulh", "mulhsu", "mulhu")


def predicted_by_patterns(blocks: Iterable[tuple[Block, int]]) -> Counter[str]:
    """Instructions, by the pattern's name; blocks come with how often they are executed."""
    found: Counter[str] = Counter()
    for block, executed in blocks:
        found["dot4_s8"] += executed * _by_dots(block)
        found["requant_s8"] += executed * _by_requantising(block)
    return found


def _by_dots(block: Block) -> int:
    """Of products that are added to something: two instructions each, of which a quarter of one stays; loads of bytes
    become loads of words."""
    sums, loads = _products_added(block), sum(one.name in BYTE_LOADS for one in block.code)
    if not sums or not loads:
        return 0
    return 2 * sums - -(-sums // TOGETHER) + loads - -(-loads // TOGETHER)


def _products_added(block: Block) -> int:
    """Products whose only use is the sum behind them."""
    products: set[int] = set()
    found = 0
    for one in block.code:
        if one.name == "add" and one.constant is None and products & set(one.sources):
            found += 1
            products -= set(one.sources)
        products.discard(one.rd)
        if one.name == "mul" and one.kind is Kind.COMPUTES:
            products.add(one.rd)
    return found


def _by_requantising(block: Block) -> int:
    """Upper words of products, with what is computed from them in the block; one instruction each stays."""
    wide, tainted, found = 0, set[int](), 0
    for one in block.code:
        is_wide = one.name in WIDE_PRODUCT
        follows = one.kind is Kind.COMPUTES and bool(tainted & set(one.sources))
        wide += is_wide
        found += is_wide or follows
        tainted.discard(one.rd)
        if one.rd and (is_wide or follows):
            tainted.add(one.rd)
    return max(0, found - wide)
