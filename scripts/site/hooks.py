"""What MkDocs calls: pages from the code are added to those of `docs/`, and links out of that folder are turned."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from scripts.site import commands, errors, gallery, matrix  # noqa: E402 (found by the line above)

OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]*)(#[^)]*)?\)")
"""A link from a page of `docs/` to another folder of the checkout."""
FENCE = re.compile(r"^```(\w+) (\S+)$", re.M)
"""The beginning of a block that is a file, whose name the site shows above it."""
NAMED = re.compile(r"\[`?(?:docs/)?(\w+\.md|[a-z]+_\w+)`?\]\((\.\./)?(\w+)\.md(#[^)]*)?\)")
"""A link that shows its file's name, in the checkout; the site shows the page's title."""
SHORT = re.compile(r"(?<!<pre>)<code>([^<]{1,28})</code>")
"""Code within a line that a telephone's screen has room for."""
LONGEST_CONTENTS = 60
"""Headings below the first level that a page's table of contents has at most."""
PAGES = {"CONTRIBUTING.md": "reference/contributing.md", "CHANGELOG.md": "reference/changelog.md"}
"""Pages of the checkout's root, and where the site has them."""
MADE = {
    "reference/commands.md": commands.page,
    "reference/errors.md": errors.page,
    "reference/operators.md": matrix.page,
    "reference/gallery.md": gallery.page,
}


def on_config(config: Any) -> Any:
    """A page that has no place yet is found under More."""
    named = set(re.findall(r"[\w/]+\.md", repr(config.nav)))
    others = sorted({path.name for path in (ROOT / "docs").glob("*.md")} - named)
    if others:
        config.nav.append({"More": others})
    return config


def on_files(files: Any, config: Any) -> Any:
    made = {name: make() for name, make in MADE.items()}
    made |= {place: from_root((ROOT / name).read_text(encoding="utf-8")) for name, place in PAGES.items()}
    made |= {f"reference/{name}": text for name, text in gallery.reports().items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def from_root(text: str) -> str:
    """A page of the root as one of the folder `reference`; other files of the checkout are named, not linked."""
    text = text.replace("](docs/", "](../")
    return re.sub(r"\[([^\]]*)\]\((?!\.\./|#|https?:)[^)]*\)", r"\1", text)


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    markdown = FENCE.sub(r'```\1 title="\2"', markdown)
    markdown = NAMED.sub(_titled, markdown)
    return markdown if page.file.src_uri.startswith("reference/") else OUTSIDE.sub(_turned, markdown)


def on_page_content(html: str, **others: Any) -> str:
    """Short code stays in one piece (`assets/site.css`); that of blocks has lines of its own."""
    return SHORT.sub(r'<code class="short">\1</code>', html)


@event_priority(-100)
def on_page_context(context: Any, page: Any, **others: Any) -> Any:
    """After the search, which knows sections from the table of contents: a long one keeps its first level."""
    first = [section for top in page.toc for section in top.children]
    if sum(len(section.children) for section in first) > LONGEST_CONTENTS:
        for section in first:
            section.children.clear()
    return context


def _titled(link: re.Match[str]) -> str:
    text, above, name, part = link.groups()
    if text.removesuffix(".md") != name:
        return link[0]
    return f"[{title_of(name)}]({above or ''}{name}.md{part or ''})"


@cache
def title_of(name: str) -> str:
    """The first heading of a page of `docs/`."""
    page = ROOT / "docs" / f"{name}.md"
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M) if page.is_file() else None
    return found[1] if found else name


def _turned(link: re.Match[str]) -> str:
    text, place, part = link.groups()
    return f"[{text}]({PAGES[place]}{part or ''})" if place in PAGES else text
