"""What pictures of benchmarks are made of."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def text(x: float, y: float, shown: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(shown)}</text>'


def document(width: float, height: float, title: str, left: float, parts: Iterable[str]) -> str:
    """A white picture with a title above its parts."""
    style = 'font-family="sans-serif" font-size="11"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>'
    back = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([head, back, text(left, 20, title, "start", 'font-size="14"'), *parts, "</svg>"]) + "\n"
