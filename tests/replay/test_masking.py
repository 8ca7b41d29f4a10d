"""What a run is lent to sign in with stands in nothing that is kept of it."""

from __future__ import annotations

import base64
import json
import re
import textwrap
import time
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.clients import Credentials
from skillopt_replay.agents.command import CommandAgent, find_program
from skillopt_replay.lent import find_all, find_secrets, keep_long
from skillopt_replay.masking import MASK, mask
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, RolloutCall, Said, Score
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.tasks import CommandSucceeds, Contains

# Like no key of any service, so that no pattern would know it.
PLAIN = "correct horse battery staple"


@pytest.fixture
def play(tmp_path, repository, make_task):
    async def run(script: str, *checks, **passed) -> Rollout:
        path = tmp_path / "program" / "my-agent"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        agent = CommandAgent(find_program([str(path)], {}), NoSandbox(), passed=passed)
        task = make_task(project=str(repository), checks=checks or (Contains(text="x"),))
        return await replay(
            task, None, agent, root=tmp_path / "runs", sandbox=NoSandbox(), limits=Limits(seconds=30)
        )

    return run


async def test_a_key_that_a_run_prints_writes_and_passes_on_is_kept_nowhere(play):
    script = """
        echo '{"skillopt": 1}'
        printf '%s\\n' '{"type": "call", "id": "1", "name": "shell", "command": "curl -H '"$MY_LOGIN"'"}'
        printf '%s\\n' '{"type": "call_end", "id": "1", "exit_code": 0, "output": "'"$MY_LOGIN"'"}'
        printf '%s\\n' '{"type": "say", "text": "It is '"$MY_LOGIN"'"}'
        printf '%s\\n' '{"type": "answer", "text": "Done with '"$MY_LOGIN"'"}'
        echo "login = $MY_LOGIN" > settings.txt
    """
    rollout = await play(script, CommandSucceeds(command="cat settings.txt >&2; exit 1"), MY_LOGIN=PLAIN)
    kept = msgspec.json.encode(rollout).decode()
    assert rollout.outcome is Outcome.FINISHED, kept
    assert rollout.answer == f"Done with {MASK}"
    assert rollout.calls[0].command == f"curl -H {MASK}"
    assert rollout.calls[0].output == MASK
    assert f"+login = {MASK}" in rollout.diff
    assert rollout.score is not None
    assert "battery" not in kept


async def test_a_key_in_the_last_words_of_a_run_that_broke_is_not_told(play):
    rollout = await play('echo "401 for $MY_LOGIN" >&2; exit 75', MY_LOGIN=PLAIN)
    assert rollout.error is not None
    assert MASK in rollout.error
    assert "battery" not in rollout.error


async def test_the_score_is_worked_out_on_what_the_run_really_did(play):
    rollout = await play('echo "$MY_LOGIN"', Contains(text="battery"), MY_LOGIN=PLAIN)
    assert rollout.score is not None
    assert rollout.score.hard == 1.0
    assert "battery" not in rollout.answer


def test_of_a_sign_in_the_key_the_header_and_the_password_of_a_proxy_are_secret():
    signed_in = Credentials(
        source="test",
        env=(("MY_API_KEY", "key-of-mine"), ("BASE_URL", "https://gateway.invalid/v1"),
             ("HTTPS_PROXY", "http://me:proxy-word@proxy.invalid:3128")),
        route={"model_provider": "own", "model_providers": {
            "own": {"base_url": "https://own.invalid", "env_key": "MY_API_KEY", "name": "Own provider",
                    "http_headers": {"X-Team": "team-secret"}}}},
        file=json.dumps({"claudeAiOauth": {"accessToken": "t" * 40, "scopes": ["user:inference"]}}).encode(),
    )  # fmt: skip
    assert sorted(signed_in.secrets) == ["key-of-mine", "proxy-word", "team-secret", "t" * 40]


def test_of_a_route_the_passwords_in_addresses_and_what_signs_its_requests_are_secret():
    service = {
        "base_url": "https://me:pass-word@gateway.invalid/v1",
        "query_params": {"api-version": "2026-01-01-preview", "sig": "a-signature"},
    }
    route = {"model_provider": "own", "model_providers": {"own": service}}
    assert sorted(find_secrets({}, route)) == ["a-signature", "pass-word"]


def test_what_a_provider_is_called_hides_none_of_its_secrets_and_makes_none():
    service = {"wire_api": "responses", "http_headers": {"X-Team": "Bearer team-secret"}}
    for name in ("own", "env_own", "own-token"):
        route = {"model_provider": name, "model_providers": {name: service}}
        assert sorted(find_secrets({}, route)) == ["Bearer team-secret", "team-secret"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n"])
def test_of_several_headers_in_a_variable_each_is_secret_by_itself(line_end):
    headers = f"X-Gateway-Key: the-word-of-mine{line_end}Authorization: Bearer another-word"
    env = {"COPILOT_PROVIDER_HEADERS": headers}
    for found in (find_secrets(env), find_all(env)):
        assert {"the-word-of-mine", "another-word"} < set(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SITE_COOKIE", "theme=dark; login=word-of-mine; other=another-word"),
        ("DATABASE", "Server=db;User Id=me;Password=word-of-mine;Pwd=another-word"),
        ("SERVICE", '{"id": "me", "client_secret": "word-of-mine", "more": {"api_key": "another-word"}}'),
        ("SITE_HEADERS", '{"X-Team": "word-of-mine", "Authorization": "Bearer another-word"}'),
        ("DOTENV", "A_TOKEN=word-of-mine\nREGION=eu-central\nsession: another-word"),
        ("ENDPOINT", "https://site.invalid/v1?api_key=word-of-mine&region=eu-central&token=another-word"),
    ],
    ids=["cookies", "connection", "JSON", "headers as JSON", "settings", "query"],
)
def test_of_several_secrets_in_a_variable_each_is_known_by_itself(name, value):
    for find in (find_secrets, find_all):
        found = find({name: value})
        assert {"word-of-mine", "another-word"} <= set(found)
        assert not {"eu-central", "https", "//site.invalid/v1"} & set(found)


def test_a_variable_as_long_as_there_are_is_looked_through_at_once():
    for value in ("a" * 120_000, "a " * 60_000, "a=b;" * 30_000, "{" * 120_000, "a.b-" * 30_000):
        began = time.monotonic()
        find_all({"X_TOKEN": value})
        assert time.monotonic() - began < 2.0


def test_what_a_program_of_the_users_own_is_passed_is_secret_with_the_passwords_in_it():
    passed = {
        "DATABASE": "postgres://app:pass-word@db.invalid/shop",
        "REGION": "eu",
        "PLAN": "of-the-large-kind",
    }
    agent = CommandAgent(find_program(["/bin/true"], {}), NoSandbox(), passed=passed)
    assert sorted(agent.secrets) == ["of-the-large-kind", "pass-word", passed["DATABASE"]]


def test_short_values_are_left_alone_and_the_longest_is_masked_first():
    assert keep_long(["eu", "", "  12345678 ", "123456789"]) == ("123456789", "12345678")
    assert find_secrets({"REGION_KEY": "eu"}) == ()
    said = Rollout(task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer="123456789 x")
    assert mask(said, ("123456789", "12345678")).answer == f"{MASK} x"
    assert mask(said, ()) is said


@given(st.text(min_size=8).filter(lambda text: text.strip() == text and text not in MASK))
def test_no_text_of_a_rollout_holds_it_whatever_it_looks_like(secret):
    said = f"a {secret} b {json.dumps(secret)} c"
    rollout = Rollout(
        task="t", skill="", agent="a", model="m", outcome=Outcome.LIMIT, answer=said, diff=said, error=said,
        calls=(RolloutCall(name="x", command=said, arguments=said, output=said, error=said),),
        steps=(Said(text=said),), notes=(said,),
        score=Score(hard=0.0, soft=0.0, results=(CheckResult(passed=False, detail=said),)),
    )  # fmt: skip
    masked = mask(rollout, keep_long([secret]))
    assert masked.answer == f'a {MASK} b "{MASK}" c' or secret in MASK
    texts = [masked.answer, masked.diff, masked.error, *masked.notes, masked.score.results[0].detail]
    texts += [masked.steps[0].text, masked.calls[0].command, masked.calls[0].output]
    assert set(texts) == {masked.answer}
    assert masked.outcome is Outcome.LIMIT


@pytest.mark.parametrize("before", ["", "u", "u:", "user:"])
@pytest.mark.parametrize("after", ["", "\n", "@host"])
def test_a_secret_is_masked_as_base64_and_urls_write_it(before, after):
    secret = "sk/fa~ke+key?42>>~~"
    written = base64.b64encode(f"{before}{secret}{after}".encode()).decode()
    safe = base64.urlsafe_b64encode(f"{before}{secret}{after}".encode()).decode()
    for text in (written, safe, quote(secret, safe="")):
        masked = mask(f"Basic {text} it says", (secret,))
        assert MASK in masked
        left = masked.replace(MASK, "").removeprefix("Basic ").removesuffix(" it says")
        assert len(left) <= len(before) * 2 + len(after) * 2 + 6


@given(st.integers(8, len(PLAIN) - 1), st.sampled_from(["", "…", " [...] ", "\n[cut: the diff is longer]\n"]))
def test_what_is_left_of_a_secret_where_a_text_was_cut_is_masked(kept, mark):
    head, tail = PLAIN[:kept], PLAIN[-kept:]
    for text, masked in (
        (f"before {head}{mark}", f"before {MASK}{mark}"),
        (f"{tail}{mark}", f"{MASK}{mark}"),
        (f" [...] {tail} after", f" [...] {MASK} after"),
        (f"it ended with 1: {tail}", f"it ended with 1: {MASK}"),
    ):
        assert mask(Said(text), (PLAIN,)).text == masked
    inside = f"before {head} after"
    assert mask(Said(inside), (PLAIN,)).text == inside, "words of their own"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("HTTPS_PROXY", "http://me:pass@word-1@proxy.invalid:3128", "pass@word-1"),
        ("HTTPS_PROXY", "http://me:pa%40ss%2Fword@proxy.invalid:3128", "pa@ss/word"),
        ("https_proxy", "me:proxy-word@proxy.invalid:3128", "proxy-word"),
        ("HTTPS_PROXY", "http://me:pass#word@proxy.invalid:3128", "pass#word"),
        ("ANTHROPIC_BASE_URL", " https://me:gateway-word@gw.invalid", "gateway-word"),
        ("BASE_URL", "https://a-token-and-no-user@gateway.invalid/v1", "a-token-and-no-user"),
        ("MY_HEADERS", "X-Team: heron\nAuthorization: Bearer tok3n-of-sixteen", "tok3n-of-sixteen"),
        ("MY_KEY", '{"type": "account", "key": "k3y-of-sixteen-or-more"}', "k3y-of-sixteen-or-more"),
        ("MY_KEY", "-----BEGIN-----\\nMIIEvQIBADANBgkqh1\\n-----END-----", "MIIEvQIBADANBgkqh1"),
    ],
)
def test_what_a_variable_holds_beside_other_things_is_secret_by_itself(name, value, secret):
    assert secret in find_secrets({name: value})
    assert not find_secrets({"BASE_URL": "https://gateway.invalid/v1/@team/models", "MODEL": "heron-12@beta"})


@pytest.mark.parametrize("secret", ["sk/fa ke+key?42>>~~'é\"", "sk-" + "Ab3_" * 30, "word\n" * 4 + "word"])
def test_a_secret_is_masked_however_programs_write_and_break_it(secret):
    encoded = base64.encodebytes(secret.encode()).decode()
    wrapped = textwrap.fill(base64.b64encode(f"me:{secret}".encode()).decode(), 64)
    texts = [
        quote(secret), quote_plus(secret), quote(secret, safe="!'()*"),
        re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
        json.dumps(secret, ensure_ascii=False), msgspec.json.encode({"a": secret}).decode(), encoded,
        *(broken.replace("\n", "\n+") for broken in (secret, encoded, wrapped)),
        *(f"{secret[:2]}{sign}\n{secret[2:]}" for sign in ("=", "\\", "")),
        json.dumps(f"{wrapped}\n{secret}"),
    ]  # fmt: skip
    for text in texts:
        left = mask(f"it is {text} they say", keep_long([secret])).replace(MASK, "")
        assert len(left) <= len("it is  they say") + 18, left


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("Ab3+dE/fGh1JkL+mNoPq==", r'"Ab3+dE\/fGh1JkL+mNoPq=="'),  # JSON by PHP
        ("Ab3+dE/fGh1JkL+mNoPq==", r'"Ab3\u002BdE/fGh1JkL\u002BmNoPq=="'),  # and by .NET
        ("Ab3+dE/fGh1JkL+mNoPq==", r"Ab3=2BdE/fGh1JkL=2BmNoPq=3D=3D"),
        ("sk_live-Zx9Qw8Er7Ty", r"sk\_live\-Zx9Qw8Er7Ty"),
        ("tok&en<12>34'56", "tok&amp;en&lt;12&gt;34&#x27;56"),
        ("tok&en<12>34'56", r"tok\&en\<12\>34\'56"),
        ("tok&en<12>34'56", r"'tok&en<12>34'\''56'"),
        ("tok&en<12>34'56", "'tok&en<12>34'\"'\"'56'"),
        ("tok&en<12>34'56", "'tok&en<12>34''56'"),
        ("pässwört-12€", r"p\303\244ssw\303\266rt-12\342\202\254"),
        ("pässwört-12€", r"'p\xe4ssw\xf6rt-12\u20ac'"),
        (r"a\\b\12345678", r'"a\\\\b\\12345678"'),
    ],
)
def test_a_secret_is_masked_with_its_signs_escaped(secret, written):
    said = Rollout(task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=f"x {written}")
    assert mask(said, keep_long([secret])).answer.strip("x '\"") == MASK


@pytest.mark.parametrize("sign", ["\\", "'", '"', "!", "ü"])
def test_a_text_of_nothing_but_escapes_is_masked_at_once(sign):
    text = f"ab{sign * 100_000}cd" + f"\\{sign}" * 50_000
    said = Rollout(task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=text)
    started = time.monotonic()
    assert mask(said, (f"ab{sign * 12}cd{sign}",)).answer == text
    assert time.monotonic() - started < 2.0


def test_a_secret_is_masked_in_hex_and_where_a_part_of_it_is_coloured():
    secret = "sk-zq7Xk2LpV9rT4mW8nB3cY6dF"
    for told in (secret.encode().hex(), secret.encode().hex().upper()):
        assert mask(f"key: {told} end", (secret,)) == f"key: {MASK} end"
    parted = f"\x1b[01;31m\x1b[K{secret[:3]}\x1b[m\x1b[K{secret[3:]}"
    for told in (parted, f"{secret[:12]}\x1b[0m{secret[12:]}"):
        assert secret[12:] not in mask(f"key: {told} end", (secret,))
        assert secret[:12] not in mask(f"key: {told} end", (secret,))


def test_a_variable_that_is_no_text_is_masked_as_it_is_told():
    secret = b"pass-\xff-word".decode("utf-8", "surrogateescape")
    told = b"it is pass-\xff-word".decode("utf-8", "replace")
    assert mask(Said(told), keep_long([secret])).text == f"it is {MASK}"
    assert mask(Said("nothing"), keep_long(["a lone \ud800 half"])).text == "nothing"


def test_a_text_with_many_edges_is_masked_at_once():
    started = time.process_time()
    text = mask(Said(f"{PLAIN[:8]} {': ' * 1_000_000}{PLAIN[:10]}"), (PLAIN,)).text
    assert text.endswith(f": {MASK}")
    assert time.process_time() - started < 2.0


async def test_a_key_that_was_cut_in_a_long_output_is_kept_nowhere(play):
    for before in range(1980, 2000, 5):
        output = 'printf \'%s\\n\' \'{"type": "call_end", "id": "1", "output": "\'$pad$MY_LOGIN$pad$pad\'"}\''
        script = f"""
            pad=$(printf '%{before}s' x | tr ' ' x)
            echo '{{"skillopt": 1}}'
            echo '{{"type": "call", "id": "1", "name": "shell", "command": "env"}}'
            {output}
        """
        rollout = await play(script, MY_LOGIN="Zq7-planted-0123456789-planted-Zq7")
        assert "x" in rollout.calls[0].output
        assert "planted" not in msgspec.json.encode(rollout).decode()
