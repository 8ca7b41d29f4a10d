"""Chat sessions kept as one document, and their lists of requests wherever they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.sources.base import Reading
from skillopt_harvesters.sources.loose import coerce, decode_any, decoder_of
from skillopt_harvesters.sources.skim import MAX_HELD, Skimmer, Torn
from skillopt_harvesters.sources.vscode.requests import REQUEST, Ask, Request, make_ask, read_request
from skillopt_harvesters.sources.vscode.state import HEADER, State, field_of, take_header
from skillopt_harvesters.sources.vscode.turns import add_turn, count_hollow

if TYPE_CHECKING:
    from collections.abc import Iterator

_REQUEST_START = re.compile(rb'\{\s{0,200}"requestId"\s{0,200}:')
_ID = b'"requestId"'
_SPACE = b" \t\r\n"
_PADDING = b"\xef\xbb\xbf\r\n\x00 \t"
_MAX_RESTARTS = 32
_decode_strictly = decoder_of(Request).decode


def read_document(file: BinaryIO, session: SessionDraft, claims: Claims) -> Reading:
    """Read a document request by request. What is damaged costs the requests it is in."""
    copies = Copies(f"{session.client}/{session.id}", claims)
    if not _read_at_once(file, session, copies):
        file.seek(0)
        _read_in_steps(Skimmer(file), session, copies)
    copies.settle()
    file.seek(0, 2)
    return Reading(session=session.close(), offset=file.tell())


def _read_at_once(file: BinaryIO, session: SessionDraft, copies: Copies) -> bool:
    """Read a document that is small and in order; False, and nothing done, when it is not."""
    text = file.read(MAX_HELD + 1)
    if len(text) > MAX_HELD:
        return False
    try:
        state = decoder_of(State).decode(text.strip(_PADDING))
    except (msgspec.DecodeError, RecursionError):
        return False
    if state.requests is msgspec.UNSET:
        return False
    for key in HEADER:
        take_header(session, key, decode_any(getattr(state, field_of(key))))
    for raw in state.requests:
        add_turn(session, count_hollow(session, read_request(raw)), copies)
    return True


def _read_in_steps(skimmer: Skimmer, session: SessionDraft, copies: Copies) -> None:
    passed, found = 0, False
    try:
        for key in skimmer.members():
            if key == "requests":
                passed, found = -1, True
                for ask in iterate_requests(skimmer, session):
                    add_turn(session, count_hollow(session, ask), copies)
                passed = skimmer.offset
            elif key in HEADER:
                take_header(session, key, decode_any(skimmer.prune(HEADER[key])))
        if skimmer.peek() != -1 or not found:
            raise Torn("more follows, or the list of requests has another name")
    except Torn:
        session.bad += 1
        for ask in _salvage(skimmer, session, passed) if passed >= 0 else ():
            add_turn(session, count_hollow(session, ask), copies)


def iterate_requests(skimmer: Skimmer, session: SessionDraft) -> Iterator[Ask]:
    """Pass a list of requests, one at a time; a damaged one is counted and the next looked for.

    Raises `Torn` when the list has no end.
    """
    restarts = 0
    if skimmer.peek() != ord("["):
        skimmer.skip()
        return
    skimmer.expect(b"[")
    if skimmer.accept(b"]"):
        return
    while True:
        skimmer.peek()
        start = skimmer.offset
        try:
            yield _take_request(skimmer)
            if skimmer.accept(b"]"):
                return
            skimmer.expect(b",")
        except Torn:
            restarts += 1
            skimmer.restart(start + 1)
            if restarts > _MAX_RESTARTS or not skimmer.find(_REQUEST_START, overlap=512):
                raise
            session.bad += 1


def _salvage(skimmer: Skimmer, session: SessionDraft, offset: int) -> Iterator[Ask]:
    """Yield the requests behind a place of a damaged document, in which their list is not where it should."""
    skimmer.restart(offset)
    while skimmer.find(_REQUEST_START, overlap=512) and session.bad <= _MAX_RESTARTS:
        start = skimmer.offset
        try:
            yield _take_request(skimmer)
            skimmer.accept(b",")
        except Torn:
            skimmer.restart(start + 1)
            session.bad += 1


def _take_request(skimmer: Skimmer) -> Ask:
    """Pass one request.

    Most begin with their id: what lies between two such places is tried as it is, which finds the end
    without looking at what is inside. Else the end is found by its brackets, in bounded memory.
    """
    guessed = _guess(skimmer)
    if guessed is not None:
        return make_ask(guessed)
    value = skimmer.take(MAX_HELD)
    if value is None:
        return read_request(skimmer.prune(REQUEST))
    try:
        request: Request = _decode_strictly(value)
    except (msgspec.DecodeError, RecursionError):
        whole = decode_any(value)
        if not isinstance(whole, dict):
            raise Torn("a damaged request") from None
        request = coerce(whole, Request)
    return make_ask(request)


def _guess(skimmer: Skimmer) -> Request | None:
    while True:
        buffer, start = skimmer.buffer, skimmer.position
        place = buffer.find(_ID, max(start + 2 * len(_ID), skimmer.searched - skimmer.passed))
        opening = len(buffer[max(start, place - 200) : place].rstrip(_SPACE)) + max(start, place - 200) - 1
        if place >= 0 and opening > start and buffer[opening : opening + 1] == b"{":
            break
        if place >= 0:
            skimmer.searched = skimmer.passed + place + 1
            continue
        skimmer.searched = skimmer.passed + max(start, len(buffer) - len(_ID))
        if len(buffer) - start > MAX_HELD or not skimmer.more():
            return None
    end = start + len(buffer[start:opening].rstrip(_SPACE))
    if buffer[end - 1 : end] != b",":
        return None
    try:
        request: Request = _decode_strictly(memoryview(buffer)[start : end - 1])
    except (msgspec.DecodeError, RecursionError):
        return None
    skimmer.position = end - 1
    return request
