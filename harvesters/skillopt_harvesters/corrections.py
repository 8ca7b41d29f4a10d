"""Corrections in the user's own words: what was wanted, what was not.

A prompt that follows an agent's answer is a correction when it opens like one ("no, ...", "that's wrong",
"you forgot ...", "don't ...", "always ...") or gives a pair ("use X, not Y"). Only quoted, code-like or
short fragments are taken out of it; the rest of the sentence stays a quote.
"""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.vocabulary import looks_like_command

MAX_QUOTE = 300
_MAX_TEXT = 4_000
_MAX_SENTENCE = 400
_MAX_WORDS = 5
_I = re.IGNORECASE


class Correction(msgspec.Struct, frozen=True):
    """What the user wanted and did not want; both None when only the complaint is clear.

    `general` is True for an instruction ("use X, not Y"), False for a fact about one answer ("it should be
    X"). `literal` is True when a fragment was quoted or looks like code or a number, so that it can be looked
    for as it stands. `quote` is redacted.
    """

    wanted: str | None
    unwanted: str | None
    quote: str
    general: bool = True
    literal: bool = False


_FRIENDLY = re.compile(
    r"(?:no|nope|nah)\b[\s,.!:;-]*(?:\bno\b[\s,.!]*)?"
    r"(?:problems?|worries|thanks?|thx|thank you|ty|need(?:ed)?|rush|hurry|changes?|further|more|other"
    r"|issues?|idea|errors?|questions?|doubt|objections?|biggie|sweat|way|one|wonder"
    r"|(?:that|it|this)(?:'s| is|’s)?"
    r" (?:all|fine|ok(?:ay)?|good|great|perfect|it|right|correct|enough|works?)"
    r"|(?:that|it|this) (?:works?|looks)|all (?:good|set|fine)|i(?:'m|’m| am) (?:good|fine|done|ok)"
    r"|looks? (?:good|great|fine)|perfect|great|leave it|keep (?:it|going)|go (?:on|ahead)|continue)\b",
    _I,
)
_FRIENDLY_ALONE = re.compile(
    r"(?:never ?mind|don['’]?t (?:worry|bother|mind)|do not worry|not (?:yet|now|sure|bad|needed|necessary)\b"
    r"|no\W*\Z|nope\W*\Z|stop\W*\Z|always (?:great|good|nice|a pleasure))",
    _I,
)
_OPENER = re.compile(
    r"(?:(?:hmm+|uh|oh|wait|sorry|ugh|argh|well|but|ok(?:ay)?|hey|please|actually|again)[\s,.!…-]+){0,3}(?:"
    r"no\b|nope\b|nah\b|wrong\b|incorrect\b"
    r"|not (?:quite|right|correct|what|that|like|working|good|how|there|the)\b"
    r"|(?:that|this|it)(?:['’]?s| is| was| still is| is still)?\s+(?:just |still |completely |totally |all )?"
    r"(?:wrong|incorrect|not (?:right|correct|what|how|it\b|working|true|quite|good)|broken|failing|fails)"
    r"|(?:that|this|it|which) (?:isn['’]?t|wasn['’]?t|doesn['’]?t|does not|didn['’]?t|did not)\b"
    r"|still (?:wrong|fail\w*|not|broken|the same|incorrect|doesn|get)"
    r"|you (?:forgot|missed|broke|didn['’]?t|did not|should(?:n['’]?t| not)? have|shouldn['’]?t|should not"
    r"|were (?:not )?supposed|weren['’]?t|used (?:the )?wrong|keep|ignored|left out|skipped|changed the wrong"
    r"|have to|need to|must|are not|aren['’]?t)\b"
    r"|why (?:did|are|do) you\b|i (?:said|told you|asked (?:you|for)|meant|didn['’]?t (?:ask|want|say))\b"
    r"|don['’]?t\b|do not\b|never\b|always\b|stop \w+ing\b|avoid\b|undo (?:that|this|it)\b"
    r"|revert (?:that|this|it)\b|(?:doesn['’]?t|does not|didn['’]?t) work|not working"
    r"|(?:it|that|this|the [\w -]{1,30}) (?:should|must) (?:not |never |always |have )?"
    r"(?:be|been|say|print|read|return|have|use|contain|include|start|end|look)\b"
    r")",
    _I,
)

_QUOTED = r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<!\w)'[^'\n]{1,200}'(?!\w)"
_BARE_WORD = r"[^\s,;`\"“”]{1,80}"
_BARE = rf"{_BARE_WORD}(?:\s+{_BARE_WORD}){{0,{_MAX_WORDS - 1}}}?"
_END = (
    r"(?=\s*(?:[.!?;:,)](?:\s|\Z)|\Z|[-–—]\s)|\s+(?:because|since|so|as|for|in|on|when|whenever|while|if|please|here"
    r"|instead|everywhere|throughout|again|and|but|this time|from now|next time|like|that|which|always)\b)"
)
_DO = (
    r"(?:use|using|run|running|call|calling|write|writing|say|saying|prefer|choose|pick|go with|going with"
    r"|try|import|install|add|put|name (?:it|them)|call (?:it|them)|commit with"
    r"|write (?:it )?(?:in|with)|(?:do|make) it (?:in|with)|switch to|stick (?:to|with)|start with|end with)"
)
_NOT = r"(?:not|instead of|rather than|over|and never|and not|never|in place of)"
_FILL = r"(?:to |using |use |with |the |an? |any |in |run |running )*"


def _fragment(name: str) -> str:
    return rf"(?P<{name}>{_QUOTED}|{_BARE})"


_W, _U = _fragment("wanted"), _fragment("unwanted")
_PAIRS = tuple(
    re.compile(pattern, _I)
    for pattern in (
        rf"\b{_DO}\s+{_FILL}{_W}\s*,?\s+{_NOT}\s+{_FILL}{_U}{_END}",
        rf"\b(?:don['’]?t|do not|never|stop|avoid|not)\s+(?:{_DO}\s+)?{_FILL}{_U}\s*[,;.:–—-]+\s*"
        rf"(?:but |please |just |instead,? |rather |always |you should )*{_DO}\s+{_FILL}{_W}{_END}",
        rf"\breplace\s+{_FILL}{_U}\s+(?:with|by)\s+{_FILL}{_W}{_END}",
        rf"\bchange\s+{_FILL}{_U}\s+(?:to|into)\s+{_FILL}{_W}{_END}",
        rf"\bnot\s+{_FILL}{_U}\s*,?\s+but\s+(?:rather\s+)?{_FILL}{_W}{_END}",
    )
)
_PAIR_QUOTED = re.compile(
    rf"(?P<wanted>{_QUOTED})\s*,?\s+{_NOT}\s+(?:[\w-]+ ){{0,3}}(?P<unwanted>{_QUOTED})", _I
)
_PAIR_AFTER_NO = re.compile(
    r"(?:no|nope|nah|wrong|incorrect|i (?:said|meant|asked for|wanted))\b[\s,.!:;–—-]*"
    r"(?:i (?:said|meant|want(?:ed)?)\s+)?"
    rf"{_FILL}{_W}\s*,?\s+{_NOT}\s+{_FILL}{_U}{_END}",
    _I,
)
_PAIR_ALONE = re.compile(
    r"(?:(?:please|just|also|actually|better|instead)[\s,]+){0,2}"
    r"(?:use|run|prefer|call|switch to|go with|stick (?:to|with))\s+"
    rf"{_FILL}{_W}\s*,?\s+{_NOT}\s+{_FILL}{_U}{_END}",
    _I,
)
_ALWAYS = re.compile(rf"\balways\s+{_DO}\s+{_FILL}{_W}{_END}", _I)
_OPTION = r"(?<!\S)--[a-z][\w-]{1,40}"
_ALWAYS_QUOTED = re.compile(rf"\balways\b[^`\"“]{{0,60}}?(?P<wanted>{_QUOTED}|{_OPTION})", _I)
_WANTED = re.compile(
    rf"(?:\A|[,;:.!?–—-]\s*|\bno\s+|\bsaid (?:to )?"
    rf"|\bplease\s+|\bjust\s+|\binstead,?\s+|\bshould (?:have )?|\bmust\s+|\bto\s+)"
    rf"(?:use|used|run|call|prefer|switch to|go with|stick (?:to|with))\s+{_FILL}{_W}{_END}",
    _I,
)
_UNWANTED = re.compile(
    rf"\b(?:don['’]?t|do not|never|stop|avoid|shouldn['’]?t (?:have )?|should not (?:have )?)\s*"
    rf"(?:ever\s+)?(?:use|used|using|run|running|call|calling|say|saying|write|writing|import|install|add)\s+"
    rf"{_FILL}{_U}{_END}",
    _I,
)
_UNWANTED_QUOTED = re.compile(
    rf"\b(?:don['’]?t|do not|never|stop|avoid)\b[^`\"“]{{0,40}}?(?P<unwanted>{_QUOTED}|{_OPTION})", _I
)
_SHOULD = re.compile(
    r"\b(?:it|that|this|the [\w -]{1,40}?|answer|result|output)\s+(?:should|must|needs? to|has to|have to)\s+"
    r"(?:have been|be|say|print|read|return|have|contain|include|output)\s+"
    rf"(?:exactly\s+|just\s+|called\s+|named\s+)?(?:an?\s+|the\s+)?{_W}"
    rf"(?:\s*,?\s+(?:not|instead of)\s+{_U})?{_END}",
    _I,
)
_SHOULD_PRINT = re.compile(
    r"\b(?:should|must|needs? to|has to)\s+(?:say|print|read|output)\s+(?P<wanted>[^`\"“\s].{0,120}?)"
    r"(?=\s+(?:with|because|since|so|when|and|instead)\b|[.]?\s*\Z)",
    _I,
)
_QUOTED_ALONE = re.compile(_QUOTED)
_QUOTE_MARK = re.compile(r"[`\"“]|(?<!\w)'")
_CODE_MARK = re.compile(r"\d|[_()=/:#<>$@+*\[\]{}]|\w\.\w|--")
_NAME = re.compile(r"\b[A-Z]")
_LEADS_TO = re.compile(r"\b(?:in|as|with|to|under|called|named|by)\s+", _I)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"“'])|\n+")
_EMPTY_WORDS_TEXT = (
    "i we you do does did is are was were should must can could would have has please it that "
    "this them they these those one ones other "
    "others same so what something anything "
    "nothing everything me us you him her thing things stuff way more less better again here "
    "there different wrong right correct only any all some such mode both either"
)
_EMPTY_WORDS = frozenset(_EMPTY_WORDS_TEXT.split())
_NOUN_FOR = re.compile(
    r"(?:the\s+)?(?:word|phrase|term|name|command|flag|option|function|tool|package|line|text|heading|header|title|prefix|library|module|method)s?\s+",
    _I,
)


def is_correction(text: str) -> bool:
    """Tell whether a prompt that follows an agent's answer corrects it."""
    return bool(find_corrections(text))


def find_corrections(text: str, *, refusal: bool = False) -> tuple[Correction, ...]:
    """Return the corrections in a prompt; empty when it is none.

    `refusal` says that the text is the reason for refusing a tool call, so that no opener is needed. A
    correction without a usable fragment is returned with both sides None.
    """
    text = text[:_MAX_TEXT].strip()
    if not text or (not refusal and not _opens_as_correction(text)):
        return ()
    found: list[Correction] = []
    for sentence in _SENTENCE.split(text):
        if sentence.strip():
            found.extend(_find_in(sentence.strip()[:_MAX_SENTENCE], text))
    if found:
        return tuple(dict.fromkeys(found))
    return (Correction(None, None, redact_within(text, MAX_QUOTE)),)


def _opens_as_correction(text: str) -> bool:
    if _FRIENDLY.match(text) or _FRIENDLY_ALONE.match(text):
        return False
    return bool(_OPENER.match(text) or _PAIR_ALONE.match(text))


def _find_in(sentence: str, text: str) -> list[Correction]:
    quote = redact_within(text, MAX_QUOTE)
    for pattern in (_PAIR_QUOTED, _PAIR_AFTER_NO, *_PAIRS):
        match = pattern.match(sentence) if pattern is _PAIR_AFTER_NO else pattern.search(sentence)
        if match:
            wanted, unwanted = _clean(_tail(match["wanted"])), _clean(match["unwanted"])
            if wanted and unwanted and wanted != unwanted:
                literal = _is_literal(match["wanted"]) or _is_literal(match["unwanted"])
                return [Correction(wanted, unwanted, quote, _has_letter(wanted), literal)]
    found = _find_fact(sentence, quote)
    if found:
        return [found]
    wanted, wanted_literal = _first(sentence, "wanted", _ALWAYS, _ALWAYS_QUOTED, _WANTED)
    unwanted, unwanted_literal = _first(sentence, "unwanted", _UNWANTED, _UNWANTED_QUOTED)
    if wanted == unwanted:
        wanted = None
    if wanted or unwanted:
        return [Correction(wanted, unwanted, quote, literal=wanted_literal or unwanted_literal)]
    return []


def _find_fact(sentence: str, quote: str) -> Correction | None:
    """Return what one answer should have been: "it should be X", "it must print X"."""
    match = _SHOULD.search(sentence)
    printed = _SHOULD_PRINT.search(sentence)
    if printed and not (match and match["wanted"][0] in "`\"“'"):
        wanted = _clean(printed["wanted"], whole=True)
        return Correction(wanted, None, quote, general=False, literal=True) if wanted else None
    if not match or not (_is_literal(match["wanted"]) or _NAME.search(match["wanted"])):
        return None
    wanted = _clean(match["wanted"])
    unwanted = _clean(match["unwanted"] or "")
    return Correction(wanted, unwanted, quote, general=False, literal=True) if wanted else None


def _first(sentence: str, group: str, *patterns: re.Pattern[str]) -> tuple[str | None, bool]:
    for pattern in patterns:
        match = pattern.search(sentence)
        if match:
            fragment = _clean(match[group])
            if fragment:
                return fragment, _is_literal(match[group])
    return None, False


def _tail(fragment: str) -> str:
    """Return what a loose phrase leads to: "dates as 2024-01-31" is about the date."""
    if fragment[0] in "`\"“'" or looks_like_command(fragment):
        return fragment
    return _LEADS_TO.split(fragment)[-1]


def _is_literal(fragment: str) -> bool:
    """Whether a fragment stands for itself: quoted, code or a number. "JSON" alone is a format, no text."""
    return bool(_QUOTE_MARK.search(fragment) or _CODE_MARK.search(fragment))


def _clean(fragment: str, *, whole: bool = False) -> str | None:
    """Return the fragment without its marks, or None when nothing can be checked by it.

    `whole` says that the fragment is text as it should be printed, with its commas and end marks.
    """
    fragment = fragment.strip()
    quoted = _QUOTED_ALONE.search(fragment)
    if quoted:
        fragment = quoted[0][1:-1].strip()
    elif whole:
        fragment = fragment.rstrip(".,;:?").strip()
    else:
        fragment = _NOUN_FOR.sub("", fragment, count=1).strip().rstrip(".,;:?!").strip()
        if fragment.count("(") < fragment.count(")"):
            fragment = fragment.rstrip(")")
    words = fragment.lower().split()
    usable = quoted or whole or not (words and words[0] in _EMPTY_WORDS)
    if not words or not usable or len(words) > _MAX_WORDS + 20 or all(word in _EMPTY_WORDS for word in words):
        return None
    if len(fragment) < 2 and not fragment.isdigit() and not quoted:
        return None
    return fragment if "[redacted:" not in redact_within(fragment, MAX_QUOTE) else None


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
