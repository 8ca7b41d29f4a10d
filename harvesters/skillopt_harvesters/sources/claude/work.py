"""The agent's work between two prompts, taken into a turn many records at a time.

Nearly all records are one step of it: a thought, some text, a call, the result of a call. What each of them
costs is most of the time that a harvest of small records takes, so that they share one loop.
Whatever is rarer goes one by one, as `Conversation` takes it; both ways lead to the same turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.calls import CallDraft, are_plain, digest_of, keep_id
from skillopt_harvesters.sources.claude.conversation import TOLD_TOOLS, Conversation
from skillopt_harvesters.sources.claude.evidence import has_ended_well
from skillopt_harvesters.sources.claude.records import Block, Message, Record
from skillopt_harvesters.sources.claude.results import SHELL_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillopt_harvesters.tokens import Counts
    from skillopt_harvesters.turns import TurnDraft


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


def _take_usual(conversation: Conversation, records: Iterator[Record], *, plain: bool) -> Record | None:
    """Take records into the turn that goes on; stop at one that must be taken by itself, and return it."""
    turn = conversation.session.turns[-1]
    work = _Work(conversation, turn)
    usage, texts, end_call, take_call = work.usage, work.texts, work.end_call, work.take_call
    odd: Record | None = None
    for record in records:
        kind, message = record.type, record.message
        if message is None:
            if record.attachment is not None and kind == "attachment":
                conversation.take_attachment(record, record.attachment, copied=False)
        elif kind == "assistant":
            if record.is_api_error_message or record.attribution_skill or message.model == "<synthetic>":
                odd = record
                break
            source = record.uuid or ""
            name = message.id or source
            if message.usage is not None:
                usage[name] = message.usage
            work.model = message.model or work.model
            content = message.content
            for block in (content,) if isinstance(content, str) else content or ():
                if isinstance(block, str):
                    text: str | None = block
                elif block.type == "tool_use":
                    take_call(block, source if plain else keep_id(source))
                    continue
                else:
                    text = block.text if block.type == "text" else None
                if text and not text.isspace():
                    texts.append((name, text, source))
        elif kind == "user" and not end_call(record, message):
            odd = record
            break
    work.settle()
    return odd


class _Work:
    """What a turn is to be given: model calls by id, pieces of text, tool calls."""

    def __init__(self, conversation: Conversation, turn: TurnDraft) -> None:
        self.conversation = conversation
        self.turn = turn
        self.usage: dict[str, Counts] = {}
        self.texts: list[tuple[str, str, str]] = []
        self.calls: list[CallDraft] = []
        self.model: str | None = None
        # The calls among them that have no result, by the client's id.
        self._waiting: dict[str | None, CallDraft] = {}
        # A call with no such id was not told before.
        self._told = set(turn.latest_ids())
        self._may_be_early = bool(conversation.memory.early)

    def take_call(self, block: Block, source: str) -> None:
        kept = keep_id(block.id or "")
        if kept in self._told and kept and kept in self.turn.latest_ids(self.calls):
            return
        name = block.name or ""
        call = CallDraft(name, kept, digest_of(block.input), None, [], None, None, source)
        if name in TOLD_TOOLS or self._may_be_early:
            self.conversation.complete_call(call, block, self.turn)
        self.calls.append(call)
        self._told.add(kept)
        if not call.closed:
            self._waiting[block.id] = call

    def end_call(self, record: Record, message: Message) -> bool:
        """Take a record that is the result of one of the calls, and no error; False for any other."""
        content = message.content
        only = content[0] if isinstance(content, list) and len(content) == 1 else None
        if not isinstance(only, Block) or only.type != "tool_result" or only.is_error:
            return False
        call = self._waiting.pop(only.tool_use_id, None)
        if call is None:
            return False
        call.closed = True
        if call.name in SHELL_TOOLS and has_ended_well(record.tool_use_result):
            call.exit_code = 0
        return True

    def settle(self) -> None:
        """Hand everything over."""
        session, usage = self.conversation.session, self.usage
        self.turn.add_calls(self.calls)
        self.turn.say_all(self.texts)
        if not are_plain(usage):
            usage = {keep_id(call): counts for call, counts in usage.items()}
        self.conversation.count_all(usage, self.turn)
        session.model = self.model or session.model
