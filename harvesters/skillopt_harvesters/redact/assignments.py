"""Secrets that are known by the name before them: assignments, fields, headers, flags and sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.grammar import Joint, Value, read_joint, read_value
from skillopt_harvesters.redact.headers import read_authorization, read_bearer, read_cookie
from skillopt_harvesters.redact.marks import IS_MARK, MARK
from skillopt_harvesters.redact.names import Strength, classify
from skillopt_harvesters.redact.values import Look, is_identifier, is_phrase, is_regex, is_sentence, look_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

# Parts of names, each sought in the lowered text; a mark is read over.
_ANCHOR = re.compile(
    MARK + r"|pass|pwd|secret|token|key|cred|auth(?!or(?!iz))|bearer|cookie|jwt|psk(?![a-z])|pw(?![a-z])|pat(?![a-z])"
    r"|pword|senha|kennwort|login(?![a-z])|mnemonic|phrase|contrase|mot de passe|mot_de_passe"
    r"|密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|암호|пapoль"
)
_NAME_END = re.compile(r"(?:[A-Za-z0-9_]|[.-](?=[A-Za-z0-9_])|[\u00c0-\u024f]|\[\]){0,48}")
# What may join a name and its value at once.
_SIGNS = frozenset(" =:\"'`")
_JOINTS = frozenset("=:\"'`")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_LONGEST_NAME = 48
_ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*\Z")
_DIRECTIVE = re.compile(
    r"(?:(?P<word>\b(?:ENV|ARG|setx?|define|export|unset|configure set|config set|secret(?:s)? set|requirepass|masterauth|add)"
    r")[ \t]{1,4}(?:/m )?[\w./:@-]{0,64}|login[ \t]{1,8}\S{1,64}\s{1,8}|^|\n[ \t]{0,8})\Z",
    re.IGNORECASE,
)
# Another name follows, which is read next.
_NESTED = re.compile(r"[A-Za-z_]{0,24}(?:pass(?:word)?|token|secret|key|auth)=", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w.$:]*\Z")
_LINE_START = re.compile(r"(?:\A|\n|\\n)[ \t+>$#-]{0,16}(?:export |set |setx |declare -x |ENV |ARG |- )?[\"']?\Z")
# "the token request", "token)", "pass" at the end: no value follows.
_NOTHING_FOLLOWS = re.compile(
    r"[ \t]{1,8}(?!(?:is|was|are|to|as|be|es|est|ist|equals|value|val|default)\b)[a-z]{1,40}(?:[\s.,;:!?)(]|\Z)"
    r"|[.,;!?)]{0,2}(?:\s{0,8}\Z|\n\n)|[.,!?;]\s"
)
# "hunter2 is the password", "use 8f3kz0q2 as my token".
_TOLD_BEFORE = re.compile(
    r"(?:\A|(?<=\s))[`\"'(]?(?P<value>[^\s`\"',;()]{6,128})[`\"')]? (?:is|as) (?:the|my|our|your) (?:[\w-]{1,24} ){0,3}[\w-]{0,24}\Z"
)
_PROSE_AFTER = re.compile(r"[ \t]+[A-Za-z]")
_FIRM = frozenset(["pair", "attribute", "line", "block", "element"])
_SCHEMES = frozenset("bearer basic token bot apikey key jwt splunk geniekey sswd negotiate".split())
_CELL_END = re.compile(r"[`*]{0,2}[ \t]{0,64}\|")
_STEMS = re.compile(r"pass|pwd|secret|token|key|cred|auth|login|user", re.IGNORECASE)


def find_assigned(view: View) -> Iterator[Edit]:
    """Find the values of names that promise a secret."""
    plain, lowered = view.plain, view.lowered
    position = 0
    while (anchor := _ANCHOR.search(lowered, position)) is not None:
        if anchor[0].startswith("["):
            position = anchor.end()
            continue
        end = _name_end(plain, anchor.end())
        edit = _read(plain, lowered, position, anchor, end)
        if edit is not None and edit[0] < edit[1]:
            yield edit
            position = edit[1]
        else:
            position = max(end, anchor.end())


def _name_end(plain: str, start: int) -> int:
    if plain[start : start + 1] in _SIGNS:
        return start
    match = _NAME_END.match(plain, start)
    return match.end() if match else start


def _name_start(plain: str, position: int, start: int) -> int:
    head = plain[max(position, start - _LONGEST_NAME) : start]
    begin = start - (len(head) - len(head.rstrip(_NAME_CHARACTERS)))
    # The n of an escaped line end is no part of the name.
    return begin + (begin < start and plain[begin] in "nrt" and plain.endswith("\\", 0, begin))


def _read(plain: str, lowered: str, position: int, anchor: re.Match[str], end: int) -> Edit | None:
    word = anchor[0]
    if word == "bearer":
        return read_bearer(plain, anchor.end())
    if plain[end : end + 1] not in _JOINTS and _NOTHING_FOLLOWS.match(plain, end) and not (plain[end - 1].isupper() or _is_flag(plain, anchor.start())):
        return _told_before(plain, position, anchor.start())
    joint = read_joint(plain, end)
    if joint is None:
        return _told_before(plain, position, anchor.start())
    start = _name_start(plain, position, anchor.start())
    name = plain[start:end]
    if word == "cookie":
        return read_cookie(plain, joint)
    if word == "auth" and lowered.startswith("orization", anchor.end()):
        return read_authorization(plain, joint)
    strength = classify(name)
    if strength is Strength.NONE:
        return None
    if word in {"key", "cred"} and lowered.startswith("api ", max(0, start - 4)):
        strength = Strength.STRONG
    if strength is Strength.MEDIUM and joint.assigns and not joint.spaced and _ENVIRONMENT.match(name):
        strength = Strength.STRONG
    return _judge(plain, start, name, strength, joint)


def _is_flag(plain: str, start: int) -> bool:
    head = plain[max(0, start - _LONGEST_NAME) : start]
    return head[len(head.rstrip(_NAME_CHARACTERS)) :].startswith("-")


def _told_before(plain: str, position: int, start: int) -> Edit | None:
    head = plain[max(position, start - 200) : start]
    if " is " not in head and " as " not in head:
        return None
    told = _TOLD_BEFORE.search(head)
    if told is None or look_at(told["value"]) < Look.NUMBERED:
        return None
    begin = start - len(head) + told.start("value")
    return (begin, begin + len(told["value"]), "secret")


def _judge(plain: str, start: int, name: str, strength: Strength, joint: Joint) -> Edit | None:
    if _NESTED.match(plain, joint.begin):
        return None
    value = read_value(plain, joint.begin, joint.kind)
    if value is None or not _is_offered(plain, start, name, strength, joint, value):
        return None
    if IS_MARK.fullmatch(value.text) or IS_MARK.match(plain, value.start):
        return _after_mark(plain, value, strength)
    text = value.text
    if joint.kind in {"spoken", "space"} or not value.quoted:
        text = text.rstrip(".,:;")
    if strength < Strength.PASSWORD and " " in text:
        scheme, _, rest = text.partition(" ")
        if " " in rest or scheme.lower() not in _SCHEMES:
            return None
    if not _is_secret(plain, start, name, strength, joint, value, text):
        return None
    stop = value.start + len(text)
    if not value.quoted and (strength >= Strength.PASSWORD or _starts_line(plain, start, name, joint)):
        stop = max(stop, value.rest)
    return (value.start, stop, "secret")


def _after_mark(plain: str, value: Value, strength: Strength) -> Edit | None:
    """A value of which another rule hid a part: the rest of it is hidden, too, when it is one."""
    covered = IS_MARK.sub("", value.text).strip(" \t.,;:)]}")
    if value.quoted and covered and strength >= Strength.STRONG and " " not in covered:
        return (value.start, value.end, "secret")
    return None


def _is_offered(
    plain: str, start: int, name: str, strength: Strength, joint: Joint, value: Value
) -> bool:
    """Whether a joint of this kind gives a value to the name at all."""
    kind = joint.kind
    if name.lower() == "pass" and not joint.assigns and kind not in _FIRM:
        # The verb.
        return plain.startswith("-", max(0, start - 1))
    if kind in {"||", "??"}:
        return value.quoted
    if kind == "comma":
        return joint.quoted_name and value.quoted and (
            strength >= Strength.PASSWORD or _is_first(plain, start) or name.startswith("-")
        )
    if kind in {"pair", "attribute"}:
        return joint.quoted_name
    if kind == "element":
        return joint.quoted_name or plain.startswith(("<", "/"), max(0, start - 1)) or ":" in plain[max(0, start - 1) : start]
    if kind == "block":
        return joint.quoted_name and value.quoted
    if kind == "call":
        return value.quoted
    if kind == "cell":
        # A row of a table begins with its sign.
        return plain[max(0, start - 300) : start].rpartition("\n")[2].lstrip().startswith("|")
    return True


def _is_secret(
    plain: str, start: int, name: str, strength: Strength, joint: Joint, value: Value, text: str
) -> bool:
    if strength is Strength.PHRASE:
        return is_phrase(text) or (not value.quoted and _phrase_follows(plain, value.start))
    look = look_at(text)
    if look is Look.NOTHING or (look is Look.RANDOM and strength is Strength.NONE):
        return False
    if strength < Strength.PASSWORD and value.quoted and is_regex(text):
        return False
    if look is Look.RANDOM:
        return True
    if joint.kind == "space" or (joint.kind == "spoken" and strength < Strength.STRONG):
        return _is_secret_unjoined(plain, start, name, strength, look, value)
    return look >= _least(plain, start, name, strength, joint, value, text)


def _phrase_follows(plain: str, start: int) -> bool:
    return is_phrase(plain[start : start + 300].partition("\n")[0])


def _is_secret_unjoined(
    plain: str, start: int, name: str, strength: Strength, look: Look, value: Value
) -> bool:
    """A value behind nothing but a space, or behind "is"."""
    text = value.text
    flag = name.startswith("-") or plain.startswith("-", max(0, start - 1))
    directive = _DIRECTIVE.search(plain, max(0, start - 100), start)
    directed = flag or directive is not None
    if strength >= Strength.STRONG and directed and (flag or _ENVIRONMENT.match(name) or strength >= Strength.PASSWORD):
        sure = (flag or (directive and directive["word"])) and not _PROSE_AFTER.match(plain, value.end)
        return look >= (Look.NUMBER if sure else Look.NUMBERED) and not text.startswith("-")
    return len(text) >= 8 and look >= Look.MIXED


def _least(
    plain: str, start: int, name: str, strength: Strength, joint: Joint, value: Value, text: str
) -> Look:
    """Return the least look that makes the value a secret."""
    if strength is Strength.KEY:
        return Look.RANDOM
    firm = (joint.assigns or joint.kind in _FIRM) and not value.wrapped
    if strength is Strength.MEDIUM:
        return Look.MIXED if len(text) >= 8 and not value.wrapped else Look.RANDOM
    if strength is Strength.PASSWORD and _is_told(plain, start, name, joint, value):
        least = Look.NUMBER
    elif not firm or value.next_line:
        loose = strength is Strength.PASSWORD and not value.wrapped and (
            joint.kind != "comma" or name.startswith("-") or _is_first(plain, start)
        )
        least = Look.NUMBERED if loose or (value.fenced and len(text) >= 12) else Look.MIXED
    elif value.quoted:
        least = _least_quoted(strength, text)
    else:
        least = _least_bare(plain, start, name, strength, joint, value, text)
    return least


def _is_told(plain: str, start: int, name: str, joint: Joint, value: Value) -> bool:
    """Whether words and numbers count, too: nothing but a password stands in such a place."""
    if value.wrapped or " " in value.text or _STEMS.search(value.text):
        return False
    if joint.kind == "comma":
        return name.startswith("-") or (_is_first(plain, start) and _ENVIRONMENT.match(name) is not None)
    if joint.kind == "call":
        return name.lower().rpartition(".")[2].startswith(("set", "with"))
    if joint.kind == "cell":
        return _CELL_END.match(plain, value.end) is not None
    if joint.kind == "spoken":
        return not name.isascii()
    return value.fenced


def _is_first(plain: str, start: int) -> bool:
    """Whether a quoted name is the first of its list: ("password", "x")."""
    return "(" in plain[max(0, start - 3) : start] or "[" in plain[max(0, start - 3) : start]


def _least_quoted(strength: Strength, text: str) -> Look:
    if len(text) < 4:
        return Look.RANDOM
    if " " in text:
        if strength is not Strength.PASSWORD or _STEMS.search(text) or is_sentence(text):
            return Look.RANDOM
        return Look.PLAIN
    if _STEMS.search(text) and not any(character.isdigit() for character in text):
        return Look.PLAIN if strength is Strength.STRONG and "-" in text else Look.NUMBERED
    if strength is Strength.PASSWORD:
        return Look.NUMBER
    return Look.NUMBERED if is_identifier(text) or len(text) < 6 else Look.PLAIN


def _least_bare(
    plain: str, start: int, name: str, strength: Strength, joint: Joint, value: Value, text: str
) -> Look:
    if _starts_line(plain, start, name, joint):
        return Look.CODE if strength is Strength.PASSWORD else Look.PLAIN
    if len(text) < 4:
        return Look.RANDOM
    after = plain[value.end : value.end + 1]
    if after in {"(", "["} and _IDENTIFIER.match(text):
        return Look.RANDOM
    code = after in {"(", "[", "."} or (_STEMS.search(text) is not None and not any(map(str.isdigit, text)))
    if code or strength is Strength.STRONG:
        return Look.MIXED
    if not joint.spaced and after in {";", "&"} and value.rest == value.end:
        return Look.NUMBER
    if joint.spaced or after in {",", ")", ";"}:
        # "password: letmein" ends its line, "password: it must be long" and "login(password=given)" go on.
        ends = not _PROSE_AFTER.match(plain, value.end) and after not in {",", ")", ";"}
        if joint.kind == "=" and (is_identifier(text) or not plain.startswith("\n", start - 1)):
            # A variable of a program.
            return Look.NUMBERED
        return Look.NUMBER if ends else Look.NUMBERED
    return Look.NUMBER


def _starts_line(plain: str, start: int, name: str, joint: Joint) -> bool:
    """Whether this is a line of a shell or .env file: an upper-case name, a bare equals sign, a value."""
    return (
        joint.kind == "="
        and not joint.spaced
        and _ENVIRONMENT.match(name) is not None
        and _LINE_START.search(plain, max(0, start - 40), start) is not None
    )
