"""The phrases people correct an agent with, as patterns."""

from __future__ import annotations

import re

MAX_WORDS = 5
_I = re.IGNORECASE

FRIENDLY = re.compile(
    r"(?:no|nope|nah)\b[\s,.!:;-]*(?:\bno\b[\s,.!]*)?"
    r"(?:problems?|worries|thanks?|thx|thank you|ty|need(?:ed)?|rush|hurry|changes?|further|more|other"
    r"|issues?|idea|errors?|questions?|doubt|objections?|biggie|sweat|way|one|wonder"
    r"|(?:that|it|this)(?:'s| is|’s)?"
    r" (?:all|fine|ok(?:ay)?|good|great|perfect|it|right|correct|enough|works?)"
    r"|(?:that|it|this) (?:works?|looks)|all (?:good|set|fine)|i(?:'m|’m| am) (?:good|fine|done|ok)"
    r"|looks? (?:good|great|fine)|perfect|great|leave it|keep (?:it|going)|go (?:on|ahead)|continue)\b",
    _I,
)
FRIENDLY_ALONE = re.compile(
    r"(?:never ?mind|don['’]?t (?:worry|bother|mind)|do not worry|not (?:yet|now|sure|bad|needed|necessary)\b"
    r"|no\W*\Z|nope\W*\Z|stop\W*\Z|always (?:great|good|nice|a pleasure))",
    _I,
)
OPENER = re.compile(
    r"(?:(?:hmm+|uh|oh|wait|sorry|ugh|argh|well|but|ok(?:ay)?|hey|please|actually|again)[\s,.!…-]+){0,3}(?:"
    r"no\b|nope\b|nah\b|wrong\b|incorrect\b|(?:once )?again\s*[:,]\s*(?:use|run|write|call|say)\b"
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
_BARE = rf"{_BARE_WORD}(?:\s+{_BARE_WORD}){{0,{MAX_WORDS - 1}}}?"
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
PAIRS = tuple(
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
PAIR_QUOTED = re.compile(
    rf"(?P<wanted>{_QUOTED})\s*,?\s+{_NOT}\s+(?:[\w-]+ ){{0,3}}(?P<unwanted>{_QUOTED})", _I
)
PAIR_AFTER_NO = re.compile(
    r"(?:no|nope|nah|wrong|incorrect|i (?:said|meant|asked for|wanted))\b[\s,.!:;–—-]*"
    r"(?:i (?:said|meant|want(?:ed)?)\s+)?"
    rf"{_FILL}{_W}\s*,?\s+{_NOT}\s+{_FILL}{_U}{_END}",
    _I,
)
PAIR_ALONE = re.compile(
    r"(?:(?:please|just|also|actually|better|instead)[\s,]+){0,2}"
    r"(?:use|run|prefer|call|switch to|go with|stick (?:to|with))\s+"
    rf"{_FILL}{_W}\s*,?\s+{_NOT}\s+{_FILL}{_U}{_END}",
    _I,
)
ALWAYS = re.compile(rf"\balways\s+{_DO}\s+{_FILL}{_W}{_END}", _I)
_OPTION = r"(?<!\S)--[a-z][\w-]{1,40}"
ALWAYS_QUOTED = re.compile(rf"\balways\b[^`\"“]{{0,60}}?(?P<wanted>{_QUOTED}|{_OPTION})", _I)
WANTED = re.compile(
    rf"(?:\A|[,;:.!?–—-]\s*|\bno\s+|\bsaid (?:to )?"
    rf"|\bplease\s+|\bjust\s+|\binstead,?\s+|\bshould (?:have )?|\bmust\s+|\bto\s+)"
    rf"(?:use|used|run|call|prefer|switch to|go with|stick (?:to|with))\s+{_FILL}{_W}{_END}",
    _I,
)
UNWANTED = re.compile(
    rf"\b(?:don['’]?t|do not|never|stop|avoid|shouldn['’]?t (?:have )?|should not (?:have )?)\s*"
    rf"(?:ever\s+)?(?:use|used|using|run|running|call|calling|say|saying|write|writing|import|install|add)\s+"
    rf"{_FILL}{_U}{_END}",
    _I,
)
UNWANTED_QUOTED = re.compile(
    rf"\b(?:don['’]?t|do not|never|stop|avoid)\b[^`\"“]{{0,40}}?(?P<unwanted>{_QUOTED}|{_OPTION})", _I
)
SHOULD = re.compile(
    r"\b(?:it|that|this|the [\w -]{1,40}?|answer|result|output)\s+(?:should|must|needs? to|has to|have to)\s+"
    r"(?:have been|be|say|print|read|return|have|contain|include|output)\s+"
    rf"(?:exactly\s+|just\s+|called\s+|named\s+)?(?:an?\s+|the\s+)?{_W}"
    rf"(?:\s*,?\s+(?:not|instead of)\s+{_U})?{_END}",
    _I,
)
SHOULD_PRINT = re.compile(
    r"\b(?:should|must|needs? to|has to)\s+(?:say|print|read|output)\s+(?P<wanted>[^`\"“\s].{0,120}?)"
    r"(?=\s+(?:with|because|since|so|when|and|instead)\b|[.]?\s*\Z)",
    _I,
)
QUOTED_ALONE = re.compile(_QUOTED)
QUOTE_MARK = re.compile(r"[`\"“]|(?<!\w)'")
CODE_MARK = re.compile(r"\d|[_()=/:#<>$@+*\[\]{}]|\w\.\w|--")
NAME = re.compile(r"\b[A-Z]")
LEADS_TO = re.compile(r"\b(?:in|as|with|to|under|called|named|by)\s+", _I)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"“'])|\n+")
_EMPTY_WORDS_TEXT = (
    "i we you do does did is are was were should must can could would have has please it that "
    "this them they these those one ones other "
    "others same so what something anything "
    "nothing everything me us you him her thing things stuff way more less better again here "
    "there different wrong right correct only any all some such mode both either"
)
EMPTY_WORDS = frozenset(_EMPTY_WORDS_TEXT.split())
NOUN_FOR = re.compile(
    r"(?:the\s+)?(?:word|phrase|term|name|command|flag|option|function|tool|package|line|text|heading|header|title|prefix|library|module|method)s?\s+",
    _I,
)
