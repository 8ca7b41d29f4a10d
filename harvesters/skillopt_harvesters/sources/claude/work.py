"""The agent's work between two prompts, taken into a turn many records at a time.

Nearly all records are one step of it: a thought, some text, a call, the result of a call. What each of them
costs is most of the time that a harvest of small records takes, so that they share one loop.
Whatever is rarer goes one by one, as `Conversation` takes it; both ways lead to the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.calls import CallDraft, are_plain, digest_of, is_digest, keep_id
from skillopt_harvesters.sources.claude.conversation import TOLD_TOOLS, Conversation
from skillopt_harvesters.sources.claude.evidence import has_ended_well
from skillopt_harvesters.sources.claude.records import Block, Record
from skillopt_harvesters.sources.claude.results import SHELL_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillopt_harvesters.tokens import Counts


def take_work(conversation: Conversation, found: Iterable[Record], *, plain: bool) -> None:
    """Take records of the session's own, of which none opens a turn or withdraws another one.

    `plain` says that each has an id, which is kept as it is.
    """
    records = iter(found)
    while (odd := _take_usual(conversation, records, plain=plain)) is not None:
        if odd.type == "assistant":
            conversation.take_assistant(odd, copied=False)
        else:
            conversation.take_user(odd, copied=False)


def _take_usual(  # noqa: PLR0912, PLR0915 - to call anything for each record takes as long as what is done for it
    conversation: Conversation, records: Iterator[Record], *, plain: bool
) -> Record | None:
    """Take records into the turn that goes on; stop at one that must be taken by itself, and return it."""
    turn = conversation.session.turns[-1]
    usage: dict[str, Counts] = {}
    texts: list[tuple[str, str, str]] = []
    calls: list[CallDraft] = []
    model: str | None = None
    odd: Record | None = None
    # The calls that have no result yet, by the client's id.
    waiting: dict[str | None, CallDraft] = {}
    # A call with none of these ids was not told before, unless one is a digest.
    told = {call.id for call in turn.latest_calls()}
    is_unsure = any(map(is_digest, told))
    is_early = bool(conversation.memory.early)
    for record in records:
        kind, message = record.type, record.message
        if message is None:
            if kind == "user":
                odd = record
                break
            if kind == "attachment":
                conversation.take_attachment(record, record.attachment, copied=False)
            continue
        content = message.content
        if kind == "assistant":
            if record.is_api_error_message or record.attribution_skill or message.model == "<synthetic>":
                odd = record
                break
            source = record.uuid or ""
            message_id = message.id or source
            if message.usage is not None:
                usage[message_id] = message.usage
            model = message.model or model
            for block in (content,) if isinstance(content, str) else content or ():
                if isinstance(block, str):
                    text: str | None = block
                elif block.type == "tool_use":
                    call_id = block.id or ""
                    may_be_told = call_id != "" and (call_id in told or is_unsure)
                    if may_be_told and turn.has_told(call_id, calls):
                        continue
                    told.add(call_id)
                    name = block.name or ""
                    call = CallDraft(name, call_id, digest_of(block.input), None, [], None, None, source)
                    if name in TOLD_TOOLS or is_early:
                        conversation.complete_call(call, block, turn)
                    calls.append(call)
                    if not call.closed:
                        waiting[call_id] = call
                    continue
                else:
                    text = block.text if block.type == "text" else None
                if text and not text.isspace():
                    texts.append((message_id, text, source))
        elif kind == "user":
            only = content[0] if isinstance(content, list) and len(content) == 1 else None
            if (
                isinstance(only, Block)
                and only.type == "tool_result"
                and not only.is_error
                and only.tool_use_id
            ):
                ended = waiting.pop(only.tool_use_id, None)
                if ended is not None:
                    ended.closed = True
                    if ended.name in SHELL_TOOLS and has_ended_well(record.tool_use_result):
                        ended.exit_code = 0
                    continue
            odd = record
            break
    if calls:
        turn.add_calls(_with_kept_ids(calls, plain=plain))
    turn.say_all(texts)
    if not are_plain(usage):
        usage = {keep_id(call): counts for call, counts in usage.items()}
    conversation.count_all(usage, turn)
    conversation.session.model = model or conversation.session.model
    return odd


def _with_kept_ids(calls: list[CallDraft], *, plain: bool) -> list[CallDraft]:
    if not are_plain([call.id for call in calls]):
        for call in calls:
            call.id = keep_id(call.id)
    if not plain:
        for call in calls:
            call.source = keep_id(call.source)
    return calls
