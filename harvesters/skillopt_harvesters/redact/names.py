"""What a name says about its value: is `db_password` a secret, `max_tokens`, `cache_key`?"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from skillopt_harvesters.redact.marks import MARK

# Parts of names, each sought in the lowered text; a mark is read over.
ANCHOR = re.compile(
    MARK + r"|pass|pwd|secret|token|key|cred|auth(?!or(?!iz))|bearer|cookie|jwt|psk(?![a-z])|pw(?![a-z])"
    r"|pat(?![a-z])|pword|senha|kennwort|login(?![a-z])|mnemonic|seed[ _-]?phrase|recovery[ _-]?phrase"
    r"|backup[ _-]?phrase|contrase|mot[ _]de[ _]passe|密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|암호|пapoль"
)


class Strength(IntEnum):
    """How surely the value behind a name is a secret."""

    NONE = 0
    KEY = 1  # "key": a secret only when the value looks like nothing else
    MEDIUM = 2  # "token", "credential": a secret when the value is no word
    STRONG = 3  # "api_key", "client_secret": a secret unless the value is a reference or a placeholder
    PASSWORD = 4  # the same, and words are passwords too
    PHRASE = 5  # words of a mnemonic


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_OTHER_LANGUAGES = re.compile(
    "密码|密碼|口令|パスワード|비밀번호|암호|contrase|mot ?de ?passe|п.{0,2}oль", re.IGNORECASE
)

_PASSWORDS = frozenset(
    "password passwd passphrase passcode passwort kennwort senha pwd pw pass psk pword passkey bindpw rootpw adminpw dbpw userpw hashpw checkpw".split()
)
_GLUED_PASSES = frozenset(
    (
        "userpass dbpass pgpass smtppass mysqlpass mypass adminpass rootpass storepass keypass ftppass authpass "
        "requirepass mailpass redispass sudopass loginpass emailpass sqlpass proxypass httppass certpass"
    ).split()
)
_PASSWORD_ENDINGS = ("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort")
# "low pass", "last pass", "forward pass"
_NO_PASSWORDS = frozenset(
    (
        "low high band all last first second third final single multi two one render rendering forward backward "
        "assertion must should can to test tests compiler optimizer optimization import did does will by boarding "
        "season ski pipeline shader depth shadow color light"
    ).split()
)
_SECRETS = frozenset("secret secrets".split())
_TOKENS = frozenset("token tokens jwt bearer apitoken authtoken accesstoken".split())
_CREDENTIALS = frozenset("credential credentials cred creds auth login".split())
_PHRASES = frozenset("mnemonic".split())
_GLUED_KEYS = (
    "apikey accesskey secretkey privatekey authkey sharedkey accountkey masterkey encryptionkey signingkey "
    "licensekey subscriptionkey presharedkey sshkey appkey clientkey storagekey servicekey sessionkey "
    "instrumentationkey primarykeysecret"
).split()
# What makes a key a secret one.
_SECRET_KEYS = frozenset(
    (
        "api access secret private auth signing sign encryption encrypt decryption master shared account service "
        "subscription app application client consumer admin deploy server license licence activation hmac aes "
        "cipher session ssh pgp gpg rsa write ingest ingestion instrumentation integration webhook jwt bot root "
        "preshared psk wallet minter signer validator fernet rails flask django vault unseal recovery backup "
        "storage registration agent tls ssl x"
    ).split()
)
_PUBLIC_KEYS = frozenset(
    (
        "public primary foreign sort partition cache hash map object row idempotency translation i dict index "
        "unique composite surrogate natural lookup group hot shortcut arrow enter tab modifier meta escape ctrl "
        "alt registry json yaml config context event field column header query param route search "
        "dedupe dedup react state message label block"
    ).split()
)
# Tokens that are counted or parsed.
_COUNTED = frozenset(
    (
        "max min num n total input output prompt completion cached cache reasoning next prev previous last first "
        "per used usage count stop pad eos bos unk mask sep cls start end begin special parse syntax whitespace "
        "string text thinking context image audio budget tool design page continuation sync cursor pagination "
        "cancel cancellation lex lexer ast separator delimiter open close keyword identifier operator punctuation "
        "new vocab word sub extra added remaining estimated average avg mean sum number of by tiktoken "
        "abort stream style theme color spacing"
    ).split()
)
# Whose personal access tokens are called so.
_PAT_OWNERS = frozenset(
    "github gh gitlab azure devops ado bitbucket my personal user bot deploy ci npm jira git docker airtable tableau".split()
)
_TOKEN_OWNERS = frozenset(
    "refresh bearer github gitlab slack discord telegram personal security npm pypi oauth stripe openai".split()
)
# A last word that makes the name one of something else.
_BENIGN = frozenset(
    (
        "type types url uri name names count counts limit limits path paths file files filename folder dir "
        "field fields input label expiry expires expired expiration ttl length len size policy budget id ids ref "
        "refs endpoint regex pattern hint error errors required reset manager provider store service class usage "
        "cost price index position map list table version algorithm alg format handler callback func function "
        "strength min max rotation arn prefix suffix header headers param parameter params scope scopes owner "
        "address contract symbol enabled disabled valid validator validation verified check at in by for env var "
        "stdin prompt placeholder title message desc description tooltip icon button form page view screen link "
        "color help factory interface impl mixin model schema dto request response event listener hook config "
        "configuration options settings kind mode status state age days hours minutes seconds time date timestamp "
        "created updated getter setter generator source sources repository adapter client test tests spec mock "
        "mocks command commands rule rules lookup resolver cache counter counts bucket stream parser lexer "
        "encoder decoder embedding embeddings ratio rate hashing hasher visible visibility shown toggle show hide "
        "exists missing sha md digest checksum fingerprint"
    ).split()
)
# Words behind the one that counts.
_TRAILERS = frozenset(
    (
        "value val str string text plain plaintext raw base b64 encoded hash hashed old new current prod "
        "production dev development staging stage test testing live local default here confirm confirmation "
        "again repeat data one two main real temp tmp backup secondary primary"
    ).split()
)


def qualify(before: str, name: str) -> Strength:
    """Return the strength of a name of two words: "access key", "auth token"."""
    if before not in _SECRET_KEYS and before not in _TOKEN_OWNERS:
        return Strength.NONE
    return min(classify(f"{before}_{name}"), Strength.STRONG)


@lru_cache(maxsize=4096)
def classify(name: str) -> Strength:
    """Return how surely the value behind an identifier, flag or header of this name is a secret."""
    if name.lstrip("$-_.") in {"PWD", "OLDPWD"}:
        return Strength.NONE
    if _OTHER_LANGUAGES.search(name):
        return Strength.PASSWORD
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and (words[-1] in _TRAILERS or words[-1].isdigit()):
        words.pop()
    if not words:
        return Strength.NONE
    strength = _by_last(words[-1], frozenset(words[:-1]))
    if strength is Strength.KEY and "hash" in name.lower():
        return Strength.NONE
    if strength is not Strength.NONE or words[-1] in _BENIGN:
        identifies = words[-1] == "id" and {"secret", "private"} & set(words)
        return Strength.STRONG if identifies else strength
    return _by_inner(words)


def _by_last(word: str, before: frozenset[str]) -> Strength:
    strength = Strength.NONE
    if word == "pass" and before & _NO_PASSWORDS:
        strength = Strength.NONE
    elif word in _PASSWORDS or word.endswith(_PASSWORD_ENDINGS) or word in _GLUED_PASSES:
        strength = Strength.PASSWORD
    elif word in _PHRASES or (word == "phrase" and before & {"seed", "recovery", "backup", "mnemonic"}):
        strength = Strength.PHRASE
    elif word in _SECRETS or word.endswith("secret"):
        strength = Strength.STRONG
    elif word == "pat":
        strength = Strength.MEDIUM if not before or before & _PAT_OWNERS else Strength.NONE
    elif word in _TOKENS or word.endswith(("token", "tokens")):
        if before & _COUNTED or "public" in before:
            strength = Strength.NONE
        else:
            strength = Strength.STRONG if before and word != "tokens" else Strength.MEDIUM
    elif word in {"key", "keys"}:
        if before & _SECRET_KEYS and not before & _PUBLIC_KEYS:
            strength = Strength.STRONG
        else:
            strength = Strength.NONE if before & _PUBLIC_KEYS else Strength.KEY
    elif word.endswith(tuple(_GLUED_KEYS)):
        strength = Strength.STRONG
    elif word in _CREDENTIALS:
        strength = Strength.MEDIUM
    return strength


def _by_inner(words: list[str]) -> Strength:
    """A secret's word with something unknown behind it: TOKEN_GITHUB, password_for_bob."""
    best = max(
        (_by_last(word, frozenset(words[:at])) for at, word in enumerate(words) if word != "pass"),
        default=Strength.NONE,
    )
    if best is Strength.PASSWORD:
        return Strength.STRONG
    return min(best, Strength.MEDIUM)
