"""What the answers that tasks want look like: their form, told without any of the answers.

Of an exact text the words and numbers are left out (`=<WORD>(<number>)`), except words that the texts of
several tasks all have. A pattern that several tasks share is their rule, and told as it is. Of a JSON schema
the keys and types are told, never values. What the tasks in hand share by chance, because they are those that
failed, is an answer: a form has to hold for all tasks of the kind.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skillopt_replay.tasks import Check, Exact, JsonSchema, Matches, Task
from skillopt_sleep.training.wordings import say_pattern

_SHARED = 3  # what so many tasks have is the form of the kind, not the answer of one
_LONGEST = 200
_MOST_FORMS = 4
_PIECE = re.compile(r"[^\W\d]+|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_WORDS = re.compile(r"[^\W\d]+")
_MANY = re.compile(r"<\w+>(?: <\w+>){2,}")
_TYPES = {str: "text", bool: "true or false", int: "number", float: "number", type(None): "null"}


def find_forms(tasks: Sequence[Task], kin: Sequence[Task] = ()) -> dict[Check, str]:
    """Return in a sentence what each check of the tasks wants, where that can be told without an answer.

    `kin` are further tasks of the kind, for which what is told as a form has to hold as well.
    """
    told = (pair for own, others in _by_place(tasks, kin) for pair in _tell(own, others))
    return {check: form for check, form in told if form and len(form) <= _LONGEST}


def tell_common(tasks: Sequence[Task], kin: Sequence[Task] = ()) -> list[str]:
    """Return what the checks of the tasks want as sentences of all of them, one for each place of a check.

    Where the exact texts of the tasks have several forms, it is one of these, the most frequent first. `kin`
    is as of `find_forms`.
    """
    sentences = []
    for own, others in _by_place(tasks, kin):
        forms = Counter(form for _, form in _tell(own, others) if form and len(form) <= _LONGEST)
        said = [form for form, _ in forms.most_common(_MOST_FORMS)]
        if len(said) > 1 and all(isinstance(check, Exact) for check in own):
            ends = ALONE.partition("{}")
            middles = [form.removeprefix(ends[0]).removesuffix(ends[2]) for form in said]
            said = [ALONE.format(" or ".join(middles))]
        sentences += said[:1]
    return list(dict.fromkeys(sentences))


def _by_place(tasks: Sequence[Task], kin: Sequence[Task]) -> list[tuple[list[Check], list[Check]]]:
    """Return the checks that stand in the same place of their tasks and are of one type, with their kin."""
    own = _group(tasks)
    others = _group(kin)
    return [(checks, others.get(place, [])) for place, checks in own.items()]


def _group(tasks: Sequence[Task]) -> dict[tuple[int, type], list[Check]]:
    places: dict[tuple[int, type], list[Check]] = {}
    for task in {task.id: task for task in tasks}.values():
        for place, check in enumerate(task.checks):
            if not check.negate:
                places.setdefault((place, type(check)), []).append(check)
    return places


def _tell(checks: Sequence[Check], kin: Sequence[Check]) -> list[tuple[Check, str]]:
    if isinstance(checks[0], Exact):
        texts = {c.text.strip() for c in checks if isinstance(c, Exact)}
        common = _find_common(texts, (c.text for c in kin if isinstance(c, Exact)))
        return [
            (c, _quote(_abstract(c.text.strip(), common, cased=not c.ignore_case), ALONE))
            for c in checks
            if isinstance(c, Exact)
        ]
    if isinstance(checks[0], Matches):
        patterns = [c.pattern for c in checks if isinstance(c, Matches)]
        others = {c.pattern for c in kin if isinstance(c, Matches)}
        if len(set(patterns)) == 1:
            if len(patterns) < _SHARED or not others <= set(patterns):
                return []
            return [(checks[0], _say(patterns[0], "must match the regular expression"))]
        common = _find_common(set(patterns), others)
        forms = [(c, _abstract(c.pattern, common, cased=True)) for c in checks if isinstance(c, Matches)]
        return [
            (c, _say(form, "must match a regular expression like"))
            for c, form in forms
            if common and re.search(r"<[\w ]+>", form)
        ]
    if isinstance(checks[0], JsonSchema):
        others_of = [c for c in kin if isinstance(c, JsonSchema)]
        return _tell_schemas([c for c in checks if isinstance(c, JsonSchema)], others_of)
    return []


ALONE = "the final answer must be {}, with nothing before or after it, and no code fence"
BARE_JSON = "the whole answer must be {} and nothing else: raw JSON, without Markdown"
_PLAIN = {
    "<number>": "one number alone",
    "<word>": "one word alone",
    "<Word>": "one word alone, with a capital letter",
    "<WORD>": "one word alone, in capital letters",
    "<words>": "a few words alone",
}


def _say(pattern: str, otherwise: str) -> str:
    """Return the rule in words; a small model makes more of them than of the pattern."""
    return f"the final answer {say_pattern(pattern) or f'{otherwise} `{pattern}`'}"


def _quote(form: str, sentence: str) -> str:
    if not re.search(r"<[\w ]+>", form):
        return ""
    return sentence.format(_PLAIN.get(form, f"`{form}`"))


def _find_common(texts: set[str], others: Iterable[str]) -> frozenset[str]:
    """Return the words that all of the texts have, and all of the others."""
    if len(texts) < _SHARED:
        return frozenset()
    # A number that a few texts share is more often chance than form.
    common = frozenset.intersection(*(frozenset(_WORDS.findall(text)) for text in texts))
    for text in others:
        if not common:
            break
        common &= frozenset(_WORDS.findall(text))
    return common


def _abstract(text: str, common: frozenset[str], *, cased: bool) -> str:
    shown = "".join(
        piece if piece in common or not any(map(str.isalnum, piece)) else _name(piece, cased)
        for piece in _PIECE.findall(text)
    )
    return _MANY.sub("<words>", shown)


def _name(piece: str, cased: bool) -> str:  # noqa: FBT001 - private
    if piece[0].isdigit():
        return f"<{len(piece)} digits>" if piece[0] == "0" and len(piece) > 1 else "<number>"
    if not cased or piece.islower():
        return "<word>"
    return "<WORD>" if piece.isupper() else "<Word>"


def _tell_schemas(checks: Sequence[JsonSchema], kin: Sequence[JsonSchema]) -> list[tuple[Check, str]]:
    known = [(check, properties) for check in checks if (properties := _read_properties(check))]
    if len(known) < _SHARED:
        return []
    keys = set.intersection(*(set(properties) for _, properties in known))
    for other in kin:
        keys &= set(_read_properties(other)) or keys
    told = []
    for check, properties in known:
        parts = [f'"{key}": <{_find_type(properties[key])}>' for key in properties if key in keys]
        told.append((check, _say_object(f"{{{', '.join(parts)}}}", check.path) if parts else ""))
    return [*told]


def _read_properties(check: JsonSchema) -> Mapping[str, Any]:
    try:
        schema = json.loads(check.schema)
    except (ValueError, RecursionError):
        return {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _say_object(form: str, path: str) -> str:
    """Return the sentence. Of an answer a small model has to hear how bare it is."""
    if path:
        return f"the result must be JSON: {form}"
    return BARE_JSON.format(form)


def _find_type(schema: object) -> str:
    if not isinstance(schema, dict):
        return "value"
    if "const" in schema:
        return _TYPES.get(type(schema["const"]), "value")
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return _TYPES.get(type(values[0]), "value")
    named = schema.get("type")
    return "text" if named == "string" else named if isinstance(named, str) else "value"
