"""How the records of a file begin, where its first bytes do not tell."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from skillopt_harvesters.salvage import is_json, mend

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = 64 * 1024
_STEP = 1024 * 1024
_MAX_SKIPPED = 128 * 1024 * 1024
_MAX_LINE = 2 * 1024 * 1024 * 1024
# Few long lines that are no records are looked behind, so many times; another program's text has many.
_FEW, _MANY = 3, 16
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def find_head(file: BinaryIO, head: bytes, recognise: Callable[[bytes], bool]) -> bytes | None:
    """Return a head that is recognised: a file's own, or else what its damage hides; None when there is none.

    A file that was emptied under a client that went on writing begins with NULs, as many as there were bytes
    before. The first lines may be no records or longer than the head, and a record broken by raw line ends.
    """
    if recognise(head):
        return head
    if head.startswith(b"\0"):
        head = _read_behind_padding(file)
        if recognise(head):
            return head
    lines, rest = mend(BytesIO(head).readlines(), limit=HEAD)
    mended = b"\n".join([*lines, *(line.rstrip(b"\r\n") for line in rest)]) + b"\n" * head.endswith(b"\n")
    if mended != head and recognise(mended):
        return mended
    for _ in range(_MANY):
        if len(head) < HEAD or head.count(b"\n") > _FEW or any(map(is_json, head.split(b"\n")[:-1])):
            break
        head = _read_behind_line(file)
        if head and recognise(head):
            return head
    return None


def find_encoding(head: bytes) -> str:
    """Return why text that begins so cannot be read; "" when it may be UTF-8."""
    if head.startswith(_UTF_16):
        return "it is in UTF-16; only UTF-8 is read"
    return "it begins with bytes that are no text" if b"\0" in head.strip(b"\0") else ""


def _read_behind_padding(file: BinaryIO) -> bytes:
    file.seek(0)
    for offset in range(0, _MAX_SKIPPED, _STEP):
        block = file.read(_STEP)
        text = block.lstrip(b"\0")
        if text or not block:
            file.seek(offset + len(block) - len(text))
            break
    return file.read(HEAD)


def _read_behind_line(file: BinaryIO) -> bytes:
    """Return what is behind the line that a file stands in, however long it is up to 2 GiB."""
    for _ in range(0, _MAX_LINE, _STEP):
        block = file.readline(_STEP)
        if not block or block.endswith(b"\n"):
            return file.read(HEAD)
    return b""
