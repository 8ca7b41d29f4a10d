"""Ordinary text stays as it is: hashes, paths, code, lock files, prose about secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import uuid
from pathlib import Path

import pytest

from skillopt_harvesters import redact

DATA = Path(__file__).parents[1] / "data"
ROOT = Path(__file__).parents[2]
LINES = (DATA / "secrets" / "harmless.txt").read_text(encoding="utf-8").splitlines()
WINGS = ("harvesters", "replay", "gate", "staging", "skillopt_sleep", "docs", "benchmarks")
# Files that show secrets on purpose.
SHOWN = {"redact"}


def unescape(line: str) -> str:
    return re.sub(r"\\([\\n])", lambda match: "\n" if match[1] == "n" else "\\", line)


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_harmless_text_stays_as_it_is(line):
    text = unescape(line)
    assert redact(text) == text


def test_a_harmless_text_stays_as_it_is_inside_json():
    for line in LINES:
        text = json.dumps({"content": unescape(line)}, ensure_ascii=False)
        assert redact(text) == text
        text = json.dumps({"arguments": text}, ensure_ascii=False)
        assert redact(text) == text


def checksums(rng: random.Random) -> list[str]:
    data = rng.randbytes(40)
    algorithms = ("md5", "sha1", "sha256", "sha384", "sha512")
    hexes = {name: hashlib.new(name, data).hexdigest() for name in algorithms}
    codes = {name: base64.b64encode(hashlib.new(name, data).digest()).decode() for name in algorithms}
    name = rng.choice(["left-pad", "@babel/core", "golang.org/x/sys", "serde", "requests"])
    return [
        *hexes.values(),
        hexes["sha1"][:7],
        f"sha256:{hexes['sha256']}",
        f'      "integrity": "sha512-{codes["sha512"]}",',
        f'"integrity": "sha384-{codes["sha384"]} sha512-{codes["sha512"]}"',
        f'    resolved "https://registry.yarnpkg.com/{name}/-/x-1.2.3.tgz#{hexes["sha1"]}"',
        f"  integrity sha512-{codes['sha512']}",
        f"{name} v1.2.3 h1:{codes['sha256']}",
        f"{name} v1.2.3/go.mod h1:{codes['sha256']}",
        f'checksum = "{hexes["sha256"]}"',
        f"    --hash=sha256:{hexes['sha256']} \\",
        f"{name}/x.py,sha256={codes['sha256'].rstrip('=').replace('+', '-').replace('/', '_')},1234",
        f"SHA256:{codes['sha256'].rstrip('=')} ana@laptop (ED25519)",
        f"commit {hexes['sha1']}",
        f"https://github.com/org/repo/commit/{hexes['sha1']}",
        f"https://github.com/org/repo/blob/{hexes['sha1']}/src/main.rs#L{rng.randint(1, 900)}",
        f"image: registry.io/app@sha256:{hexes['sha256']}",
        f"<script src=a.js integrity='sha384-{codes['sha384']}'></script>",
        f"oid sha256:{hexes['sha256']}\nsize {rng.randint(1, 10**7)}",
        str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        f"0x{hexes['sha256']}",
        f"{hexes['sha1']} refs/heads/main",
        f"main-{hexes['md5'][:8]}.js chunk-{hexes['md5'][:8]}.css",
        f"trace_id={hexes['md5']} span_id={hexes['md5'][:16]}",
    ]


def test_checksums_identifiers_and_lock_files_stay_as_they_are():
    rng = random.Random(20261203)
    for _ in range(200):
        for text in checksums(rng):
            assert redact(text) == text


def test_the_code_and_the_documentation_of_this_project_stay_as_they_are():
    texts = [
        path
        for wing in WINGS
        for path in (ROOT / wing).rglob("*")
        if path.suffix in {".py", ".md", ".toml", ".css", ".tcss"}
        and not SHOWN & set(path.relative_to(ROOT).parts)
    ]
    assert len(texts) > 150
    for path in texts:
        text = path.read_text(encoding="utf-8")
        changed = [
            line
            for line in redact(text).splitlines()
            if "[redacted:" in line and line not in text.splitlines()
        ]
        assert not changed, path


def test_a_patch_of_ordinary_code_stays_as_it_is():
    for path in (ROOT / "replay").rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        patch = f"--- a/{path.name}\n+++ b/{path.name}\n@@ -1,{len(lines)} +1,{len(lines)} @@\n" + "\n".join(
            f"{'-+ '[number % 3]}{line}" for number, line in enumerate(lines)
        )
        assert redact(patch) == patch
