"""Markdown set out on a terminal, with commands that can be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.console import Console
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderResult


class _Code(CodeBlock):
    """A command stands whole on one line, however narrow the terminal: a wrapped one breaks when copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.lexer_name == "sh":
            yield Text(str(self.text).rstrip(), style="bold", no_wrap=True, overflow="ignore")
        else:
            yield from super().__rich_console__(console, options)


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
    }


def print_markdown(text: str) -> None:
    """Print it on standard output, wrapped at words; blocks of `sh` are left whole."""
    Console(highlight=False).print(_Page(text, hyperlinks=False), crop=False)
