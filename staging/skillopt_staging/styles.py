"""How a text file is written down: byte order mark, line ends, and whether the last line has one."""

from __future__ import annotations

from difflib import SequenceMatcher

BOM = b"\xef\xbb\xbf"


def plain(data: bytes) -> bytes:
    """Return the content alone: no byte order mark, LF line ends, and one after the last line."""
    content = data.removeprefix(BOM).replace(b"\r\n", b"\n")
    return content if not content or content.endswith(b"\n") else content + b"\n"


def restyle(content: bytes, like: bytes) -> bytes:
    """Return plain `content` written down as the file `like` is.

    Lines both have keep their own line end, so that a file with mixed ends changes nowhere else; new lines
    end as the line before them. A file without any line end says nothing about them: LF is used.
    """
    bom = BOM if like.startswith(BOM) else b""
    lines = content.split(b"\n")[:-1]
    if not lines:
        return bom
    ends = _ends(lines, like.removeprefix(BOM))
    unfinished = like.removeprefix(BOM) and not like.endswith(b"\n")
    # An empty last line is nothing but its end.
    if unfinished and lines[-1]:
        ends[-1] = b""
    return bom + b"".join(line + end for line, end in zip(lines, ends, strict=True))


def _ends(lines: list[bytes], like: bytes) -> list[bytes]:
    *old, _unfinished = like.split(b"\n")
    styles = {line.endswith(b"\r") for line in old}
    if styles != {True, False}:
        return [b"\r\n" if True in styles else b"\n"] * len(lines)
    known = _matches(lines, [line.removesuffix(b"\r") for line in old])
    crlf = old[0].endswith(b"\r")
    ends = []
    for index in range(len(lines)):
        if index in known:
            crlf = old[known[index]].endswith(b"\r")
        ends.append(b"\r\n" if crlf else b"\n")
    return ends


def _matches(new: list[bytes], old: list[bytes]) -> dict[int, int]:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.b + step: block.a + step for block in blocks for step in range(block.size)}
