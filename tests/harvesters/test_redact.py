"""Secrets do not survive; everything else does."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import redact
from skillopt_harvesters.redact import redact_within

BASE62 = string.ascii_letters + string.digits
SECRETS = {
    "openai": "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7",
    "anthropic": "sk-ant-api03-" + "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1",
    "stripe": "sk_live_" + "51HqLyjWDarjtT1zdp7dc",
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "github-fine": "github_pat_" + "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "google": "AIza" + "SyA-1234567890abcdefghijklmnopqrstu",
    "gitlab": "glpat-" + "x9Yz8Wv7Ut6Sr5Qp4On3",
    "huggingface": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwX",
    "random": "q7Zx2Lm9Vt4Rb8Nc1Wd6Kf3Hg5Jp0Sy",
    "key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----",
}
FRAMES = [
    "{}",
    "use {} for the call",
    "export TOKEN={}",
    'curl -H "Authorization: Bearer {}" https://api.host/v1',
    '{{"key": "{}"}}',
    "line one\n{}\nline three",
    "({})",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_does_not_survive_wherever_it_stands(kind, frame):
    text = redact(frame.format(SECRETS[kind]))
    assert SECRETS[kind] not in text
    assert "[redacted:" in text


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("password=hunter2pass", "hunter2pass"),
        ("PASSWORD: hunter2", "hunter2"),
        ('api_key = "not-so-secret-word"', "not-so-secret-word"),
        ("DB_PASSWORD='pa ss word'", "pa ss word"),
        ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("git clone https://ana:s3cr3tpw@host.org/x.git", "s3cr3tpw"),
        ("postgres://app:topsecret@db:5432/app", "topsecret"),
        ("mysql --password hunter2secret -u root", "hunter2secret"),
        ("Authorization: Basic YW5hOnNlY3JldA==", "YW5hOnNlY3JldA"),
        ("x-api-key: 0123456789abcdef", "0123456789abcdef"),
        ("the password is correcthorse7battery", "correcthorse7battery"),
        ("log in, my Passphrase is `x9!plum` today", "x9!plum"),
        ("set the token to 8f3kz0q2", "8f3kz0q2"),
        ("pwd: hunter2hunter2", "hunter2hunter2"),
        ("mysql -uroot -pP@ssw0rd! shop", "P@ssw0rd!"),
        ("SK9e290d9f945ffa4d128b3c0a7e5f6d21", "9e290d9f945ffa4d"),
        ("mail ana.smith@company.io about it", "ana.smith@company.io"),
    ],
)
def test_a_secret_given_by_its_name_does_not_survive(text, gone):
    assert gone not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Fix the failing test in src/components/Header/NavigationBarWithSearch.test.tsx, please.",
        "revert 3f2a9c1d5e7b8f60a1b2c3d4e5f60718293a4b5c",
        "session 439f0b2b-7f96-4640-8774-65244b9d008b",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "AbstractSingletonProxyFactoryBeanConfiguration is too long a name",
        "why does max_tokens: 4096 not work? The token: it expires",
        "def login(user, password: string, token=None): ...",
        "git clone git@github.com:org/repo.git and https://github.com/org/repo",
        "see https://host.org/a/b?page=2#part for the secret of success",
        "the token is expired, the secret is out, the api key is in src/config.py",
        "the secret is process.env.SECRET and the pwd is $PWD",
        "mysql -u root -p shop; the password is too-short-for-us",
        "the password is required; Bearer authentication is used",
        "mail somebody@example.com, a reserved name",
        "rename snake_case_identifier_with_many_parts to camelCaseIdentifierWithManyParts",
        "2026-11-29T13:11:11.817Z and 192.168.100.200:8080",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert redact(text) == text


@given(st.text(max_size=300))
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@given(
    st.sampled_from([*SECRETS.values()]),
    st.text(alphabet=string.ascii_lowercase + " \n.,:=\"'", max_size=60),
    st.text(alphabet=string.ascii_lowercase + " \n.,:=\"'", max_size=60),
)
def test_no_surroundings_save_a_secret(secret, before, after):
    once = redact(f"{before} {secret} {after}")
    assert secret not in once
    assert redact(once) == once


@given(
    st.text(alphabet=BASE62, min_size=20, max_size=60),
    st.sampled_from(["sk-", "ghp_", "password=", "glpat-"]),
)
def test_no_value_behind_a_secrets_prefix_survives(value, prefix):
    assert value not in redact(f"here {prefix}{value} there")


@given(st.binary(min_size=33, max_size=33))
def test_a_random_token_is_hidden_unless_it_is_not_random(data):
    token = base64.b64encode(data).decode()
    text = redact(f"key {token} end")
    spread = len(set(token)) >= 30 and any(c.isdigit() for c in token) and any(c.islower() for c in token)
    if spread and any(c.isupper() for c in token) and sum(c.isdigit() for c in token) > 5:
        assert token not in text


def test_the_cut_comes_after_the_redaction():
    text = "a" * 90 + " ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3" * 2
    cut = redact_within(text, 100)
    assert len(cut) <= 100
    assert "ghp_" not in cut


def test_of_a_wrapped_token_the_last_line_goes_as_well():
    token = (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0."
        "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
    )
    wrapped = "\n".join((token[:60], token[60:120], token[120:]))
    assert redact(f"token:\n{wrapped}\nand go on") == "token:\n[redacted:base64]\nand go on"


@pytest.mark.parametrize(
    "text",
    [
        "密码（<secret>）",
        "密碼是「<secret>」",
        "密码改为了<secret>",
        "初始密码都是<secret>哦",
        "账号密码：admin / <secret>",
        "用户名/密码: admin/<secret>",
        "username/password: admin/<secret>",
        "username/password = admin/<secret>",
        'new NetworkCredential("bob", "<secret>")',
        'credentials += Credentials("Realm", "host.io", "bob", "<secret>")',
    ],
)
def test_a_password_does_not_survive_where_people_note_it(text):
    assert "Tr0ub4dor" not in redact(text.replace("<secret>", "Tr0ub4dor&3xYz"))


def test_session_ids_and_assertions_of_a_login_do_not_survive():
    for name in ("PHPSESSID", "JSESSIONID", "ASP.NET_SessionId", "connect.sid", "SAMLResponse"):
        assert redact(f"got {name}=0123456789abcdef0123456789 x") == f"got {name}=[redacted:cookie] x"


@pytest.mark.parametrize("text", ["密码不能少于8位", "请把密码改成由用户输入", "修改密码 page.tsx 的样式"])
def test_what_is_said_of_passwords_stays(text):
    assert redact(text) == text
