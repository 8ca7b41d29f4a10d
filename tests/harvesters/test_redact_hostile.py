"""Hostile text costs no more than its length, and redacting twice changes nothing."""

from __future__ import annotations

import random
import string
import time
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skillopt_harvesters import redact
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.redact.marks import IS_MARK

# Pieces that begin something which never ends, or end what never began.
UNITS = r"""
%5F %253D &#61; &#x3D; &quot; &amp;quot; &equals; &# &lt;token&gt;
a. a.a.a - -- ----- _ / // \ \\ \" " ' ` "'` = == : :: @ a@ a@b. @a. %a % %3D %2F %22 ? & ?a= &sig=
?code=abcdef ( [ { < > <a ( ${ $( {{ $ $2a$ $1$abcdefgh | || |a eyJ -eyJ eyJa. sk- sk-a- ghp_ SG.
AKIA A 0 aB3 AAAA1 key key( key," key: key= token token= token=" token=\" token: token, token{
<token> token\u0022: &quot;token password password= password=" password=' password='x password("
passwordpassword pass pwd pw secret secret" auth auth: _auth= Authorization: Authorization:Digest
Bearer bearer: Cookie: Cookie:a= cookie=" cred creds login mnemonic jwt. http:// http://a:
http://a:b@ :// :\/\/ a\/ hooks.slack.com/services/ infura.io/v3/ -----BEGIN -----END
-----BEGINPRIVATEKEY----- [ [redacted: [redacted:secret] [redacted:secret]= 密码 密码： ： 。 é
""".split()
PHRASES = [
    " ", "\t", "\n", "\r\n", "\u200b", "a\u200b", "a ", "a b ", "is the ", "abcdef is the ",
    "abcdefg as the ",
    "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n",
    "-----END PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----" + "\\" * 80, "PuTTY-User-Key-File-2:",
    "Private-Lines: 1\nABCDEFGHIJKLMNOPQRST\n", "token: ", "token is ", "token of ", "token for a b c d ",
    "password ", "password '", "password\n", "password a\n", "password from a to ", "password" + " " * 60,
    "token" + "\\" * 70, "token:" + "\\" * 70, 'token="' + "\\" * 70, "\\" * 63 + '"',
    "password" + "\\" * 60 + "r" + "\\" * 60, "aB3dE5gH7j" * 6 + "\\" * 60, "aB3dE5gH7j" * 6 + "\n",
    "curl -u ", " -u a:b", "curl -u " + "\\" * 70, "mysql -p", "echo a | ", "echo " + "\\" * 70, "sudo <<< ",
    "vault login -a -b ", "machine a login b password ", "machine a  login b  ",
    "identified by '", 'login("a",', 'connect("a","b",', "jwt.sign(a,b,", "INSERT INTO t (password) VALUES ('",
    "INSERT INTO t (password,a) VALUES (a,(", "user,password\n", "a,b\n", "|password|a|\n",
    "kind: Secret\ndata:\n  a: bbbbb\n", "tokens: [a1b2, ", 'tokens=["a",', '"token","value":',
    'token value="a" ', "token\n value: ", "\na:5432:b:c:d", "x:y1z2@", "0123456789abcdef" * 2 + "-",
    "perm:aaaa.", '"kty":"d":"', "https:" + "\\" * 60 + "/", "value" + "\\" * 70 + "password ",
    "net use a ",     "rdp /p:", "pass<(echo ",
    "credentials: a ", "Authorization: Digest a=b ", "'\\''", "'\"'\"'", "password='\\''",
]  # fmt: skip
SHAPES = [*dict.fromkeys((*UNITS, *PHRASES))]


def seconds(text: str) -> float:
    """Return the least processor time of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        redact(text)
        best = min(best, time.process_time() - start)
    return best


def grows_with_the_square(unit: str, size: int) -> bool:
    """Whether four times the text costs much more than four times as much, in each of three trials."""
    small, large = (unit * (count // len(unit) + 1) for count in (size, 4 * size))
    return all(seconds(large) > 9 * seconds(small) + 0.005 for _ in range(3))


@pytest.mark.parametrize("unit", SHAPES, ids=range(len(SHAPES)))
def test_time_grows_with_the_length_of_any_repeated_piece(unit):
    assert not grows_with_the_square(unit, 3000)


@given(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=4))
@settings(max_examples=60)
def test_time_grows_with_the_length_of_any_mixture_of_pieces(pieces):
    assert not grows_with_the_square("".join(pieces), 3000)


@pytest.mark.parametrize(
    ("alphabet", "width"),
    [
        *product(
            [string.ascii_letters + string.digits, string.hexdigits, "ab", "aB3/+", "\\\"'", " \n\t"],
            [0, 20, 60],
        )
    ],
)
def test_time_grows_with_the_length_of_random_text(alphabet, width):
    rng = random.Random(width)
    unit = "".join(rng.choices(alphabet, k=2500))
    if width:
        unit = "\n".join(unit[at : at + width] for at in range(0, len(unit), width))
    assert not grows_with_the_square(unit, 5000)


def test_any_one_character_many_times_is_done():
    for character in " a0-_=/\\\"'@.:%${[|\n\u200b密":
        text = character * 300_000
        assert len(redact(text)) <= len(text)


def test_a_megabyte_without_a_secret_comes_back_as_it_is():
    text = "the quick brown fox jumps over the lazy dog. " * 22_222
    assert redact(text) is text


@given(
    st.lists(
        st.sampled_from([*SHAPES, "hunter2!", "Tr0ub4dor&3", "q7Zx2Lm9Vt4Rb8Nc1Wd6", "a@b.io"]), max_size=12
    )
)
@settings(max_examples=300)
def test_redacting_twice_changes_nothing_more_whatever_is_mixed(pieces):
    for separator in ("", " ", "\n"):
        once = redact(separator.join(pieces))
        assert redact(once) == once


@given(st.text(max_size=400))
@settings(max_examples=200)
def test_redacting_any_text_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@given(
    st.text(alphabet=string.ascii_letters + string.digits + " =:\"'\\/.,@-_[]{}()\n", max_size=200),
    st.integers(1, 60),
)
@settings(max_examples=200)
def test_a_cut_is_no_longer_than_it_may_be_and_leaves_no_half_of_a_mark(text, limit):
    assume("[redacted:" not in text)
    cut = redact_within(f"{text} password=hunter2hunter2 {text}", limit)
    assert len(cut) <= limit
    assert cut.count("[redacted:") == len(IS_MARK.findall(cut))
