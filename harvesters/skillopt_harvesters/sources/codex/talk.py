"""What was said in a session: prompts and answers, each once; reviews, summaries, and the skills on offer."""

from __future__ import annotations

import re

from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind, Signal
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.book import TurnBook, add_skills
from skillopt_harvesters.sources.codex.decode import Record
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.prompts import EVENT, GIVEN, ITEM
from skillopt_harvesters.sources.codex.words import Words, find_words, split_parts
from skillopt_harvesters.turns import TurnDraft

_LISTED_SKILL = re.compile(
    r"^- (?P<name>[\w:.-]{1,100}): .*\((?:file|(?:environment|orchestrator|custom) resource): ", re.MULTILINE
)
_SKILL_LIST = "### Available skills"
_MAX_SKILLS = 1000
_TEXTS = frozenset({"input_text", "text", "Text"})
# The client's name for a turn that was not begun.
_NO_TURN = "auto-compact-"
_CLIENT_SAYS = frozenset({"Compact task completed", "<EXTERNAL SESSION IMPORTED>"})


class Talk:
    """Takes the records that tell what was said into the turns of a session."""

    def __init__(self, session: SessionDraft, memory: Memory, turns: TurnBook) -> None:
        self.session = session
        self.memory = memory
        self.turns = turns
        # The stream of the prompt that the record before told, 0 when it told none.
        self.fresh = 0

    def take_message(self, message: records.Message, record: Record) -> None:
        told = message.internal_chat_message_metadata_passthrough
        if told and _is_put_in(told):
            return
        texts = [part.text for part in message.content or () if part.text]
        if message.role == "assistant":
            self._take_words(texts, GIVEN, record)
            return
        for text in texts:
            if _SKILL_LIST in text:
                self._note_skills(text)
        self.turns.pass_turn(told.turn_id if told else None)
        if message.role == "user":
            words = find_words(*split_parts(message))
            if _lack_text(message.content):
                self._lose_words("user/(none)", words)
            self._take_prompt(words, GIVEN, record)
        elif is_damaged(message.role, "user") or (message.role is None and _is_given(message.content)):
            self._lose_prompt(f"message/{message.role or '(none)'}", find_words(*split_parts(message)))

    def take_user_message(self, told: records.UserMessage, record: Record) -> None:
        if told.kind in {None, "plain"}:
            words = find_words([told.message] if told.message else [])
            if told.message is None:
                self._lose_words("user_message/(none)", words)
            words.image = words.image or bool(told.message is not None and (told.images or told.local_images))
            self._take_prompt(words, EVENT, record)

    def take_agent_message(self, told: records.AgentMessage, record: Record) -> None:
        if told.message and told.message not in _CLIENT_SAYS:
            self._take_words([told.message], EVENT, record)

    def take_item(self, item: records.Item, record: Record) -> None:
        """Take a completed item that is a message, or the beginning or end of a review."""
        parts = item.content or []
        texts = [part.text for part in parts if part.text]
        if item.type == "UserMessage":
            words = find_words(texts)
            if _lack_text(item.content):
                self._lose_words("item/UserMessage", words)
            else:
                words.image = words.image or any((part.type or "").endswith("image") for part in parts)
            self._take_prompt(words, ITEM, record)
        elif item.type == "AgentMessage":
            self._take_words(texts, ITEM, record)
        elif item.type == "EnteredReviewMode":
            self._begin_review(item.target, None, record)
        elif item.type == "ExitedReviewMode":
            self.memory.reviewing = False
        elif is_damaged(item.type, "UserMessage"):
            self._lose_prompt(f"item/{item.type}", find_words(texts))

    def take_agent_task(self, _task: records.AgentTask, record: Record) -> None:
        """Open a turn for the task another agent gives; its words are not kept readable."""
        if self.memory.kind is Kind.SUBAGENT and self.turns.latest is None:
            self.turns.for_agent(record)

    def take_review(self, review: records.Review, record: Record) -> None:
        words = review.prompt if review.prompt == review.user_facing_hint else None
        self._begin_review(review.target, words, record)

    def take_review_end(self, _review: records.Review, _record: Record) -> None:
        self.memory.reviewing = False

    def take_compacted(self, compacted: records.Compacted, _record: Record) -> None:
        """Withdraw the summary: the model's answer to the client, which is not shown to the user."""
        texts = self.session.turn.texts if self.session.turn else []
        if texts and texts[-1].source == _name(GIVEN) and (compacted.message or "").endswith(texts[-1].text):
            texts.pop()

    def say(self, turn: TurnDraft, text: str, stream: int, record: Record) -> None:
        """Add a message, which may be told once more in another stream."""
        place = self.turns.place(turn, f"said {text}", record)
        if place is None:
            return
        turn = place
        last = turn.texts[-1] if turn.texts else None
        name = _name(stream)
        if last and last.text == text and name not in last.source:
            last.source += name
        else:
            turn.say(self.memory.number(), text, name)

    def _take_words(self, texts: list[str], stream: int, record: Record) -> None:
        text = "\n\n".join(text for text in texts if text.strip())
        if text:
            self.say(self.turns.for_agent(record), text, stream, record)

    def _lose_prompt(self, name: str, words: Words) -> None:
        """Count a record that would tell a prompt if it were what it seems to have been."""
        self.session.meet_unknown(name)
        if words.is_act and not (words.tagged or self.turns.copying):
            self.memory.lost = True

    def _lose_words(self, name: str, words: Words) -> None:
        """Count a prompt of which words are not there; other halves of it, or other words, may be."""
        self.session.meet_unknown(name)
        if not (words.is_act or self.turns.copying):
            self.memory.lost = True

    def _take_prompt(self, words: Words, stream: int, record: Record) -> None:
        memory, ledger, latest = self.memory, self.memory.ledger, self.turns.latest
        if words.interrupted and latest and not self.turns.copying:
            latest.signals.add(Signal.INTERRUPTION)
        if not self.session.project:
            self.turns.enter(words.folder)
        # What a review asks its own agent is told as if the user had said it, but not given to this one.
        if words.is_act and not (memory.reviewing and stream != GIVEN):
            if words.tagged and stream == GIVEN and ledger.seen & (EVENT | ITEM):
                return
            memory.reviewing = False
            if not ledger.is_known(words, stream, record.time):
                is_other_half = self.fresh == GIVEN and stream != GIVEN and not ledger.is_complete(stream)
                if is_other_half and latest and latest.is_untouched:
                    latest.prompt, latest.command = words.prompt, words.command
                    ledger.adopt()
                else:
                    self.turns.open(words, record, typed=self.turns.may_be_typed())
            ledger.fresh = stream
        if self.turns.latest:
            add_skills(self.turns.latest, words.skills)

    def _begin_review(self, target: records.Target | None, words: str | None, record: Record) -> None:
        if target and target.type == "custom":
            words = target.instructions
        asked, latest = Words(command="/review", prompt=(words or "").strip()), self.turns.latest
        known = self.memory.reviewing and latest is not None and latest.prompt == asked.prompt
        if not (known or self.turns.copying):
            self.turns.open(asked, record, typed=self.turns.may_be_typed())
            self.memory.reviewing = True

    def _note_skills(self, text: str) -> None:
        offered = self.session.skills_offered
        for match in _LISTED_SKILL.finditer(text, text.find(_SKILL_LIST)):
            if len(offered) < _MAX_SKILLS:
                offered[match["name"]] = None


def _is_put_in(told: records.Kinds) -> bool:
    """Tell whether a program put a message into the history between turns: nobody typed or answered it."""
    return (told.turn_id or "").startswith(_NO_TURN) and {*(told.content_item_kinds or ())} == {"unknown"}


def _is_given(parts: list[records.Part] | None) -> bool:
    """Tell whether a message was the model's to read, not one it wrote."""
    return any(part.type in _TEXTS for part in parts or ())


def _lack_text(parts: list[records.Part] | None) -> bool:
    """Tell whether a text is not where it should be; an image has none."""
    return parts is None or any(part.text is None and part.type in _TEXTS for part in parts)


def _name(stream: int) -> str:
    return f"<{stream}>"
