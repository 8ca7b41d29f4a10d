"""What is known of one language: its small words, and its forms for saying what was wanted.

Everything a lexicon holds is a regular expression, matched without regard to case on folded text (see
`folding.py`): half-width punctuation, straight apostrophes, simplified characters. Where words are separated
by blanks a pattern matches whole words only.

Patterns about what was wanted may use these names: `{wanted}` and `{unwanted}` for a fragment to be taken
out, `{do}` and `{not}` for the lexicon's words of doing and of contrast, `{fill}` for words before a fragment
that do not belong to it, `{quoted}` for quoted text, `{end}` for where a fragment ends.
"""

from __future__ import annotations

import re

import msgspec

_JOINED = re.compile(r"\\\n\s*")


def phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a block: one to a line, or several with " / " between.

    A backslash joins a line to the next; a line that begins with # is a comment.
    """
    lines = (line.strip() for line in _JOINED.sub("", text).splitlines())
    said = (line.split(" / ") for line in lines if line and not line.startswith("#"))
    return tuple(phrase.strip() for line in said for phrase in line)


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """The phrases of one language. A language is one module with one of these, listed in `LEXICONS`.

    Whatever a language leaves out is simply not told from its words.

    `marks` are words, or characters, that show a text to be in this language; `foreign` what shows that it
    is not, however many marks it has.
    """

    language: str
    spaced: bool
    marks: tuple[str, ...]
    foreign: tuple[str, ...] = ()

    # Taken off the front of a clause, in any order and number.
    fillers: tuple[str, ...] = ()  # hm, ok, please, sorry: they say nothing
    requests: tuple[str, ...] = ()  # could you, I want: what follows is an instruction
    contrasts: tuple[str, ...] = ()  # but, except: takes back the praise before it
    sequels: tuple[str, ...] = ()  # now, next: what follows comes after the work
    assents: tuple[str, ...] = ()  # yes, thanks: what follows is said in agreement
    additions: tuple[str, ...] = ()  # also, and: what follows comes on top of it
    too: tuple[str, ...] = ()  # as well: at the end of a clause, the same

    # What a whole clause may be.
    praise: tuple[str, ...] = ()  # thanks, that works, no problem: the work is accepted
    consent: tuple[str, ...] = ()  # continue, go ahead: nothing is said about the work
    drops: tuple[str, ...] = ()  # never mind: the user gives up

    # How a clause may begin.
    objections: tuple[str, ...] = ()  # that's wrong, you forgot, undo it
    denials: tuple[str, ...] = ()  # no: an objection, unless the agent had asked something
    absences: tuple[str, ...] = ()  # no before a noun: there is none of it, or there should be
    prohibitions: tuple[str, ...] = ()  # don't, never, always: a rule
    repeats: tuple[str, ...] = ()  # try again, redo
    questions: tuple[str, ...] = ()  # what, how, does it
    doubts: tuple[str, ...] = ()  # isn't, why is it still: questions that object
    steps: tuple[str, ...] = ()  # commit, deploy: what one does with good work
    deeds: tuple[str, ...] = ()  # write, review: what tasks begin with
    things: tuple[str, ...] = ()  # a, an: the object of a task rather than of a change
    adds: tuple[str, ...] = ()  # add, include: a change when of something known, else a task
    known: tuple[str, ...] = ()  # the, our: the object is known from before
    manners: tuple[str, ...] = ()  # in, for: after a deed they say how, not what
    remarks: tuple[str, ...] = ()  # I'm, by the way: neither asks nor tells

    # What may stand anywhere in a clause.
    changes: tuple[
        str, ...
    ] = ()  # keep, shorter, without: a plain instruction; left out: anything may be one
    complaints: tuple[str, ...] = ()  # too long, is missing, does not work
    instead: tuple[str, ...] = ()  # instead: the other way than it was done
    obligations: tuple[str, ...] = ()  # must, should, has to
    asides: tuple[str, ...] = ()  # fyi, by the way
    offers: tuple[str, ...] = ()  # would you like: a question at the end of an answer that needs no reply
    leaning: tuple[str, ...] = ()  # why, what about: what begins so goes on from what came before
    backward: tuple[str, ...] = ()  # it, that, again: understood only with what came before

    # What was wanted, and what not.
    bare: str = ""  # a fragment without quotes
    end: str = ""  # what may follow such a fragment
    doing: tuple[str, ...] = ()  # use, run: `{do}`
    contrast: tuple[str, ...] = ()  # not, instead of: `{not}`
    fill: str = ""  # `{fill}`
    pairs: tuple[str, ...] = ()  # both fragments
    pairs_alone: tuple[str, ...] = ()  # a clause that is a correction by its form
    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    unwanted_commands: tuple[str, ...] = ()  # "never {unwanted}": when the fragment is a command line
    negations: tuple[str, ...] = ()  # told you not to: what is said to be wanted behind it is not
    voids: tuple[str, ...] = ()  # no need to: what stands behind it is neither wanted nor unwanted
    keepings: tuple[str, ...] = ()  # forget, remove: what must not be done so is not unwanted
    joints: tuple[str, ...] = ()  # but, instead: what stands before them does not bear on what follows
    facts: tuple[str, ...] = ()  # "it should be {wanted}": about one answer
    printed: tuple[str, ...] = ()  # "it must print {wanted}": text to the end of the sentence
    tool_nouns: tuple[str, ...] = ()  # tool
    nouns: tuple[str, ...] = ()  # word, flag: stand before a fragment and do not belong to it
    leads: tuple[str, ...] = ()  # in, as: of "dates as 2024-01-31" the end is meant
    empty: str = ""  # words that alone name nothing, separated by blanks
