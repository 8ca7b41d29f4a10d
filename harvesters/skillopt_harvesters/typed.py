"""What of a prompt the user wrote, as far as its form tells: pasted blocks and quotations are not it."""

from __future__ import annotations

import re

# A correction is short; what follows so many lines or characters was mostly pasted.
MAX_LINES = 15
MAX_CHARACTERS = 2_000

_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)")
_NOT_TYPED = re.compile(
    r"\s*(?:>"
    r"|File \"[^\"]{1,300}\", line \d+"
    r"|at [\w.$<>\[\] ]{1,200}\("
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\[?\d\d:\d\d:\d\d[\].,]"
    r"|(?:[+-]{3} |@@ -\d)"
    r"|[|+][-=|+ ]{3,}"
    r"|(?:npm|yarn|pnpm) (?:ERR!|WARN\b|warn\b|error))"
)
_FAILURE = re.compile(
    r"Traceback \(most recent call last\)"
    r"|^[ \t]{0,20}(?:[\w.]{1,80}(?:Error|Exception)|ERROR|FATAL|FAILED|panic|fatal|error(?:\[\w+\])?)\b"
    r" ?(?::|\[|-)"
    r"|\b(?:npm|pnpm|yarn) (?:ERR!|error\b)"
    r"|\bexit(?:ed)? (?:with )?(?:code|status)[: ]+[1-9]"
    r"|^[ \t]{0,20}at [\w.$<>]{1,200} ?\(.{1,300}:\d+\)"
    r"|\bSegmentation fault\b|\bcore dumped\b|^[ \t]{0,20}[✗✘✖] ",
    re.MULTILINE,
)
_SCANNED = 20_000


def typed_part(text: str) -> str:
    """Return the lines of a prompt that its author wrote: no fenced blocks, quotations, logs or diffs.

    Reading ends at MAX_LINES lines or MAX_CHARACTERS characters. The result is made of lines of the text.
    """
    kept: list[str] = []
    length = 0
    fenced = False
    for line in text[:_SCANNED].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced or _NOT_TYPED.match(line):
            continue
        if len(kept) >= MAX_LINES or length >= MAX_CHARACTERS:
            break
        kept.append(line[: MAX_CHARACTERS - length])
        length += len(kept[-1]) + 1
    return "\n".join(kept).strip()


def shows_failure(text: str) -> bool:
    """Tell whether a prompt holds the output of something that failed: a trace, an error line."""
    return bool(_FAILURE.search(text[:_SCANNED]))
