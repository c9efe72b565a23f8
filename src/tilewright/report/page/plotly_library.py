"""The library that draws charts, as a script to put into a page: Plotly's, which its Python package brings."""

from __future__ import annotations

from tilewright.errors import CompileError


def plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise CompileError(
            "report", "needs Plotly, which is not installed", "pip install 'tilewright[report]'"
        ) from None
    script: str = get_plotlyjs()
    return script
