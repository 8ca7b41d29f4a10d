"""Series of short asks ("greet Bob", "greet Alice"): each follows the one before it in time only.

Of a longer ask a short instruction says how it should be done. An ask of a word or two is not long enough for
that: what follows it is about it only when it says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.normalise import content_words, is_cjk, normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_harvesters.lexicons.compiled import Phrases

_SHORT = 3
_BRIEF = 2
_MAX_COMPARED = 200
_DIRECTIVES = ("pairs", "wanted", "unwanted", "unwanted_commands", "facts", "printed")


def continues_series(said: str, asked: str, phrases: Sequence[Phrases]) -> bool:
    """Tell whether two short prompts begin with the same word and go on with different ones."""
    mine, theirs = _words(said), _words(asked)
    return (
        said != asked
        and 0 < len(mine) <= _SHORT
        and 0 < len(theirs) <= _SHORT
        and mine[0] == theirs[0]
        and not is_cjk(mine[0])
        and not _points_back(said, phrases)
    )


def stands_alone(said: str, asked: str, phrases: Sequence[Phrases]) -> bool:
    """Tell whether a prompt after a very short ask has nothing that ties it to that one."""
    mine, theirs = _words(said), _words(asked)
    return (
        0 < len(theirs) <= _BRIEF
        and not any(map(is_cjk, theirs))
        and set(mine).isdisjoint(theirs)
        and not _points_back(said, phrases)
        and not any(form.search(said) for one in phrases for name in _DIRECTIVES for form in one.forms[name])
        and not any(one.fronts["manners"].match(said) for one in phrases)
    )


def _points_back(said: str, phrases: Sequence[Phrases]) -> bool:
    return any(one.inside["backward"].search(said) for one in phrases)


def _words(text: str) -> list[str]:
    return content_words(normalise(text)) if len(text) <= _MAX_COMPARED else []
