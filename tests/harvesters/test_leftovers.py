"""A rare wording belongs to the one family whose own words it is made of."""

from __future__ import annotations

from skillopt_harvesters.leftovers import Wording, place_leftovers
from skillopt_harvesters.normalise import FENCED

CHANGELOG = [Wording({"create": 0.5, "changelog": 1.0, "entry": 1.0}, 4)]
DEPLOY = [Wording({"deploy": 1.0, "stag": 0.5}, 3)]


def place(*wordings: Wording, others=()) -> list[tuple[int, int]]:
    return list(place_leftovers([CHANGELOG, DEPLOY, *others, *([one] for one in wordings)]))


def test_a_wording_in_the_words_of_one_family_belongs_to_it():
    assert place(Wording({"changelog": 1.0, "entry": 1.0, "please": 0.15}, 1)) == [(0, 2)]


def test_what_is_said_mostly_in_other_words_does_not():
    assert place(Wording({"changelog": 1.0, "parser": 1.0, "crash": 1.0}, 1)) == []


def test_words_of_two_families_tell_nothing():
    assert place(Wording({"changelog": 1.0, "deploy": 1.0}, 1)) == []


def test_a_word_that_two_families_have_tells_nothing():
    other = [Wording({"validate": 1.0, "changelog": 1.0}, 3)]
    assert place(Wording({"changelog": 1.0}, 1), others=[other]) == []


def test_one_word_beside_a_value_may_be_part_of_it():
    assert place(Wording({"changelog": 1.0, "<>": 1.0}, 1)) == []


def test_light_verbs_and_values_tell_nothing():
    assert place(Wording({"create": 0.5, "<>": 0.5}, 1)) == []


def test_a_long_template_takes_in_nothing_and_belongs_to_nothing():
    template = [Wording({FENCED: 1.0, "outline": 1.0}, 5)]
    long = [Wording({f"word{n}": 0.5 for n in range(40)}, 5)]
    few = (Wording({"outline": 1.0}, 1), Wording({"word3": 1.0}, 1), Wording({FENCED: 1.0, "deploy": 1.0}, 1))
    assert place(*few, others=[template, long]) == []


def test_what_is_asked_often_is_no_leftover():
    assert place(Wording({"changelog": 1.0, "entry": 1.0}, 9)) == []
