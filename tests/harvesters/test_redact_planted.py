"""No planted secret survives, of whatever shape, wherever it stands, however deep.

Secrets are made at run time from parts: none stands in this file.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
import sys
import uuid
from collections.abc import Callable
from itertools import product
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from skillopt_harvesters import calls, redact
from skillopt_harvesters.redact import redact_within

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
B62, HEX = LOWER + UPPER + DIGITS, DIGITS + "abcdef"
B36, UP36, URL64, B64 = LOWER + DIGITS, UPPER + DIGITS, B62 + "-_", B62 + "+/"
WORDS = (
    "amber basil cedar delta ember fjord grove hazel ivory jasper knoll lotus maple north onyx pearl".split()
)

Make = Callable[[random.Random], str]


def chars(alphabet: str, count: int) -> Make:
    def make(rng: random.Random) -> str:
        while True:
            made = "".join(rng.choices(alphabet, k=count))
            # Chance alone may leave a class out, and a short one is then a word.
            if alphabet in {HEX, DIGITS} or any(map(str.isdigit, made)):
                return made

    return make


def glued(*parts: str | Make) -> Make:
    return lambda rng: "".join(part if isinstance(part, str) else part(rng) for part in parts)


def encoded(count: int, *, url: bool = False) -> Make:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    return lambda rng: encode(rng.randbytes(count)).decode()


def some_uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def jwt(rng: random.Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": str(rng.getrandbits(40)), "iat": rng.getrandbits(30)})
    head = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*head, encoded(32, url=True)(rng).rstrip("=")])


# Tokens that show by themselves. A hyphen keeps scanners from seeing the prefixes in this file.
KNOWN: dict[str, Make] = {
    "aws access key": glued("AK" + "IA", chars(UPPER + "234567", 16)),
    "aws session key": glued("AS" + "IA", chars(UPPER + "234567", 16)),
    "aws bedrock": glued("AB" + "SK", encoded(90)),
    "github classic": glued("gh" + "p_", chars(B62, 36)),
    "github oauth": glued("gh" + "o_", chars(B62, 36)),
    "github server": glued("gh" + "s_", chars(B62, 36)),
    "github fine grained": glued("github" + "_pat_", chars(B62, 22), "_", chars(B62, 59)),
    "gitlab": glued("gl" + "pat-", chars(URL64, 20)),
    "gitlab routable": glued("gl" + "pat-", chars(URL64, 27), ".01.", chars(B36, 9)),
    "gitlab deploy": glued("gl" + "dt-", chars(URL64, 20)),
    "gitlab runner": glued("gl" + "rt-", chars(URL64, 20)),
    "bitbucket": glued("AT" + "BB", chars(B62, 32)),
    "slack bot": glued("xox" + "b-", chars(DIGITS, 12), "-", chars(DIGITS, 12), "-", chars(B62, 24)),
    "slack user": glued("xox" + "p-", chars(DIGITS, 12), "-", chars(DIGITS, 12), "-", chars(HEX, 32)),
    "slack app": glued("xa" + "pp-1-A", chars(UP36, 9), "-", chars(DIGITS, 13), "-", chars(HEX, 64)),
    "discord bot": glued("M", chars(B62, 23), ".", chars(URL64, 6), ".", chars(URL64, 27)),
    "telegram": glued(chars("123456789", 10), ":A", "A", chars(URL64, 33)),
    "stripe secret": glued("sk" + "_live_", chars(B62, 24)),
    "stripe test": glued("sk" + "_test_", chars(B62, 99)),
    "stripe restricted": glued("rk" + "_live_", chars(B62, 24)),
    "stripe webhook": glued("wh" + "sec_", chars(B62, 32)),
    "square": glued("sq0" + "atp-", chars(URL64, 22)),
    "square new": glued("EA" + "AA", chars(URL64, 60)),
    "twilio": glued("S" + "K", chars(HEX, 32)),
    "sendgrid": glued("S" + "G.", chars(URL64, 22), ".", chars(URL64, 43)),
    "mailgun": glued("ke" + "y-", chars(HEX, 32)),
    "mailgun signing": glued(chars(HEX, 32), "-", chars(HEX, 8), "-", chars(HEX, 8)),
    "mailchimp": glued(chars(HEX, 32), "-us", chars("12345", 2)),
    "brevo": glued("xkey" + "sib-", chars(HEX, 64), "-", chars(B62, 16)),
    "resend": glued("re" + "_", chars(B62, 8), "_", chars(B62, 24)),
    "npm": glued("np" + "m_", chars(B62, 36)),
    "pypi": glued("py" + "pi-AgEIcHlwaS5vcmc", chars(URL64, 120)),
    "rubygems": glued("ruby" + "gems_", chars(HEX, 48)),
    "crates": glued("ci" + "o", chars(B62, 32)),
    "docker hub": glued("dckr" + "_pat_", chars(URL64, 27)),
    "nuget": glued("oy" + "2", chars(B36, 43)),
    "artifactory": glued("AK" + "Cp", chars(B62, 69)),
    "hugging face": glued("h" + "f_", chars(LOWER + UPPER + DIGITS, 34)),
    "openai project": glued("sk-" + "proj-", chars(URL64, 74), "T3BlbkFJ", chars(URL64, 74)),
    "openai legacy": glued("sk" + "-", chars(B62, 20), "T3BlbkFJ", chars(B62, 20)),
    "anthropic": glued("sk-" + "ant-api03-", chars(URL64, 93), "AA"),
    "openrouter": glued("sk-" + "or-v1-", chars(HEX, 64)),
    "google": glued("AI" + "za", chars(URL64, 35)),
    "google oauth": glued("ya" + "29.a0", chars(URL64, 120)),
    "google client": glued("GOC" + "SPX-", chars(URL64, 28)),
    "google refresh": glued("1/" + "/0", chars(URL64, 60)),
    "groq": glued("gs" + "k_", chars(B62, 52)),
    "replicate": glued("r" + "8_", chars(B62, 37)),
    "perplexity": glued("pp" + "lx-", chars(B62, 48)),
    "xai": glued("xa" + "i-", chars(B62, 80)),
    "nvidia": glued("nv" + "api-", chars(URL64, 64)),
    "pinecone": glued("pc" + "sk_", chars(B62, 6), "_", chars(B62, 60)),
    "langsmith": glued("ls" + "v2_pt_", chars(HEX, 32), "_", chars(HEX, 10)),
    "databricks": glued("da" + "pi", chars(HEX, 32)),
    "digitalocean": glued("do" + "p_v1_", chars(HEX, 64)),
    "cloudflare origin": glued("v1" + ".0-", chars(HEX, 24), "-", chars(HEX, 146)),
    "heroku": glued("HR" + "KU-AA", chars(URL64, 58)),
    "fly": glued("fo" + "1_", chars(URL64, 43)),
    "fly macaroon": glued("fm" + "2_", encoded(150)),
    "vercel blob": glued("vercel" + "_blob_rw_", chars(B62, 16), "_", chars(B62, 30)),
    "netlify": glued("nf" + "p_", chars(B62, 36)),
    "supabase": glued("sb" + "p_", chars(HEX, 40)),
    "supabase secret": glued("sb" + "_secret_", chars(URL64, 31)),
    "planetscale": glued("ps" + "cale_tkn_", chars(URL64, 43)),
    "planetscale password": glued("ps" + "cale_pw_", chars(URL64, 43)),
    "aiven": glued("AV" + "NS_", chars(URL64, 19)),
    "alibaba": glued("LT" + "AI", chars(B62, 20)),
    "tencent": glued("AK" + "ID", chars(B62, 32)),
    "azure client secret": glued(chars(B62, 3), "8Q~", chars(URL64 + "~.", 34)),
    "azure storage": glued(encoded(64)),
    "sentry org": glued("sn" + "trys_eyJpYXQiO", encoded(90), "_", chars(B64, 43)),
    "sentry user": glued("sn" + "tryu_", chars(HEX, 64)),
    "new relic": glued("NR" + "AK-", chars(UP36, 27)),
    "new relic license": glued(chars(HEX, 36), "NR" + "AL"),
    "grafana service": glued("gl" + "sa_", chars(B62, 32), "_", chars(HEX, 8)),
    "grafana cloud": glued("gl" + "c_", encoded(60)),
    "dynatrace": glued("dt" + "0c01.", chars(UP36, 24), ".", chars(UP36, 64)),
    "posthog": glued("ph" + "x_", chars(B62, 43)),
    "launchdarkly": glued("sd" + "k-", some_uuid),
    "circleci": glued("CCI" + "PAT_", chars(B62, 22), "_", chars(HEX, 40)),
    "buildkite": glued("bk" + "ua_", chars(HEX, 40)),
    "sonar": glued("sq" + "u_", chars(HEX, 40)),
    "octopus": glued("AP" + "I-", chars(UP36, 26)),
    "terraform": glued(chars(B62, 14), ".atlas" + "v1.", chars(URL64, 67)),
    "pulumi": glued("pu" + "l-", chars(HEX, 40)),
    "vault": glued("hv" + "s.", chars(URL64, 95)),
    "vault legacy": glued("s" + ".", chars(B62, 24)),
    "doppler": glued("dp" + ".st.dev.", chars(B62, 43)),
    "1password service": glued("op" + "s_eyJ", encoded(200)),
    "1password secret": glued(
        "A3" + "-",
        chars(UP36, 6),
        "-",
        chars(UP36, 6),
        "-",
        chars(UP36, 5),
        "-",
        chars(UP36, 5),
        "-",
        chars(UP36, 5),
    ),
    "age": glued("AGE-" + "SECRET-KEY-1", chars(UP36, 58)),
    "postman": glued("PM" + "AK-", chars(HEX, 24), "-", chars(HEX, 34)),
    "linear": glued("lin" + "_api_", chars(B62, 40)),
    "notion": glued("nt" + "n_", chars(DIGITS, 11), chars(B62, 35)),
    "notion old": glued("sec" + "ret_", chars(B62, 43)),
    "figma": glued("fi" + "gd_", chars(URL64, 40)),
    "atlassian": glued("AT" + "ATT3xFfGF0", chars(URL64, 170), "=", chars(UP36, 8)),
    "airtable": glued("pa" + "t", chars(B62, 14), ".", chars(HEX, 64)),
    "hubspot": glued("pa" + "t-na1-", some_uuid),
    "shopify": glued("sh" + "pat_", chars(HEX, 32)),
    "dropbox": glued("sl" + ".B", chars(URL64, 134)),
    "plaid": glued("acc" + "ess-production-", some_uuid),
    "razorpay": glued("rz" + "p_live_", chars(B62, 14)),
    "typeform": glued("tf" + "p_", chars(URL64, 59)),
    "contentful": glued("CF" + "PAT-", chars(URL64, 43)),
    "easypost": glued("EZ" + "AK", chars(B62, 54)),
    "tailscale": glued("ts" + "key-auth-", chars(B62, 17), "-", chars(B62, 32)),
    "apify": glued("apify" + "_api_", chars(B62, 36)),
    "sourcegraph": glued("sg" + "p_", chars(HEX, 40)),
    "jwt": jwt,
    "random 32": chars(B62, 32),
    "random 43": chars(URL64, 43),
    "random 40": chars(B64, 40),
}
# Values that only a name gives away.
NAMED: dict[str, Make] = {
    "hex 32": chars(HEX, 32),
    "hex 40": chars(HEX, 40),
    "hex 64": chars(HEX, 64),
    "uuid": some_uuid,
    "base36": chars(B36, 24),
    "upper": chars(UP36, 20),
    "base62": chars(B62, 16),
    "base64": encoded(24),
    "urlsafe": chars(URL64, 27),
}
PASSWORDS: dict[str, Make] = {
    "word and number": lambda rng: rng.choice(WORDS) + str(rng.randint(100, 9999)),
    "word": lambda rng: rng.choice(WORDS) + rng.choice(WORDS),
    "signs": lambda rng: (
        rng.choice(WORDS).title() + rng.choice("!@#%^*?") + str(rng.randint(10, 99)) + rng.choice("!#^*?")
    ),
    "leet": lambda rng: rng.choice(WORDS).replace("a", "4").replace("e", "3") + "-" + rng.choice(WORDS) + "7",
    "digits": lambda rng: str(rng.randint(10**7, 10**9)),
}


def escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


FRAMES: dict[str, Callable[[str], str]] = {
    "alone": lambda s: s,
    "prose": lambda s: f"please use {s} for the deploy, and tell me how it went",
    "end of a sentence": lambda s: f"It says {s}.",
    "quotes": lambda s: f"run it with '{s}' or \"{s}\"",
    "backticks": lambda s: f"I pasted `{s}` into the form",
    "brackets": lambda s: f"f({s})[{s}]<{s}>",
    "line": lambda s: f"first line\n{s}\nlast line",
    "json": lambda s: json.dumps({"a": [{"b": s}]}),
    "json in json": lambda s: json.dumps({"arguments": json.dumps({"cmd": ["bash", "-lc", f"x {s}"]})}),
    "json in json in json": lambda s: json.dumps(json.dumps(json.dumps({"v": f"\n{s}\n"}))),
    "escaped newline": lambda s: f"one\\n{s}\\ntwo",
    "patch": lambda s: f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+{s}\n",
    "colour": lambda s: f"\x1b[32m{s}\x1b[0m",
    "parameter": lambda s: f"https://api.service.io/v1/items?page=2&k={quote(s, safe='')}&n=1",
    "path": lambda s: f"https://api.service.io/v1/{quote(s, safe='')}/items",
    "login": lambda s: f"git clone https://{quote(s, safe='')}@git.service.io/team/repo.git",
    "argument": lambda s: f"tool run --value {s} --dry-run",
    "assignment": lambda s: f"x={s}",
    "chinese": lambda s: f"请使用{s}，然后重启。",
    "zero width": lambda s: f"it is {s[:9]}\u200b{s[9:]} now",
    "full width": lambda s: f"值：{s}。",
}


def write_signs(text: str, form: str) -> str:
    """Escape all that is no letter or digit."""
    return "".join(sign if sign.isalnum() else form.format(ord(sign)) for sign in text)


Context = Callable[[str, str], str]
ANY_NAME: dict[str, Context] = {
    "shell export": lambda n, v: f"export {n.upper()}={v}\n",
    "shell export quoted": lambda n, v: f'export {n.upper()}="{v}"\nrun',
    "shell prefix": lambda n, v: f"{n.upper()}='{v}' ./run.sh --fast",
    "dotenv": lambda n, v: f"HOST=db.local\n{n.upper()}={v}\nPORT=5432\n",
    "dotenv in a patch": lambda n, v: f"@@ -1,2 +1,2 @@\n HOST=a\n-{n.upper()}=\n+{n.upper()}={v}\n",
    "dotenv in json": lambda n, v: json.dumps({"content": f"HOST=a\n{n.upper()}={v}\nPORT=1"}),
    "dotenv twice in json": lambda n, v: json.dumps(json.dumps({"c": f"HOST=a\n{n.upper()}={v}\nPORT=1"})),
    "yaml": lambda n, v: f"db:\n  host: a\n  {n}: {v}\n  port: 1\n",
    "yaml quoted": lambda n, v: f"db:\n  {n}: '{v}'\n",
    "toml": lambda n, v: f'[db]\n{n} = "{v}"\n',
    "ini": lambda n, v: f"[db]\n{n}={v}\n",
    "properties": lambda n, v: f"spring.datasource.{n}={v}\n",
    "json": lambda n, v: json.dumps({"db": {n: v, "port": 1}}),
    "json tight": lambda n, v: json.dumps({"db": {n: v}}, separators=(",", ":")),
    "json indented": lambda n, v: json.dumps({"db": {n: v, "port": 1}}, indent=2),
    "json in json": lambda n, v: json.dumps({"arguments": json.dumps({n: v})}),
    "json in json in json": lambda n, v: json.dumps({"a": json.dumps({"b": json.dumps({n: v})})}),
    "javascript": lambda n, v: f"const db = {{ host, {n}: '{v}', port }};",
    "typescript": lambda n, v: f'const {n}: string = "{v}";',
    "python keyword": lambda n, v: f'client = Client(host, {n}="{v}")',
    "python": lambda n, v: f"{n} = '{v}'\n",
    "python typed": lambda n, v: f'{n}: str = "{v}"\n',
    "python dict": lambda n, v: repr({"user": "ana", n: v}),
    "python environment": lambda n, v: f'os.environ["{n.upper()}"] = "{v}"',
    "python default": lambda n, v: f'os.getenv("{n.upper()}", "{v}")',
    "javascript default": lambda n, v: f"process.env.{n.upper()} || '{v}'",
    "ruby": lambda n, v: f":{n} => '{v}', user: 'ana'",
    "php": lambda n, v: f"define('{n.upper()}', '{v}');",
    "go": lambda n, v: f'cfg := Config{{{n.title().replace("_", "")}: "{v}"}}',
    "c": lambda n, v: f'#define {n.upper()} "{v}"',
    "java": lambda n, v: f'private static final String {n.upper()} = "{v}";',
    "powershell": lambda n, v: f'$env:{n.upper()} = "{v}"',
    "windows": lambda n, v: f"set {n.upper()}={v}",
    "xml element": lambda n, v: f"<server><{n}>{v}</{n}></server>",
    "xml attribute": lambda n, v: f'<add key="{n}" value="{v}" />',
    "xml string": lambda n, v: f'<string name="{n}">{v}</string>',
    "html": lambda n, v: f'<input type="hidden" name="{n}" value="{v}">',
    "kubernetes yaml": lambda n, v: f"env:\n  - name: {n.upper()}\n    value: {v}\n",
    "kubernetes json": lambda n, v: json.dumps({"env": [{"name": n.upper(), "value": v}]}),
    "docker run": lambda n, v: f"docker run -e {n.upper()}={v} -p 1:1 app",
    "docker inspect": lambda n, v: json.dumps({"Env": [f"{n.upper()}={v}", "PATH=/bin"]}),
    "dockerfile": lambda n, v: f"FROM a\nENV {n.upper()}={v}\nRUN b",
    "dockerfile old": lambda n, v: f"FROM a\nENV {n.upper()} {v}\nRUN b",
    "terraform": lambda n, v: f'variable "{n}" {{\n  type    = string\n  default = "{v}"\n}}',
    "flag": lambda n, v: f"tool --{n.replace('_', '-')} {v} --host a",
    "flag with equals": lambda n, v: f"tool --{n.replace('_', '-')}={v} --host a",
    "flag in a list": lambda n, v: json.dumps(["tool", f"--{n.replace('_', '-')}", v]),
    "from literal": lambda n, v: f"kubectl create secret generic x --from-literal={n}={v}",
    "query": lambda n, v: f"https://api.service.io/v1/x?a=1&{n}={quote(v, safe='')}&b=2",
    "form": lambda n, v: f"curl -d 'user=ana&{n}={quote(v, safe='')}' https://api.service.io/login",
    "form escaped": lambda n, v: quote(f'{{"{n}":"{quote(v, safe="")}"}}', safe=""),
    "html escaped": lambda n, v: f"&quot;{n}&quot;: &quot;{v}&quot;",
    "every sign escaped": lambda n, v: write_signs(f'{{"{n}": "{v}"}}', "%{:02X}"),
    "every sign escaped twice": lambda n, v: write_signs(f"?a=1&{n}={v}", "%25{:02x}"),
    "numbers in html": lambda n, v: write_signs(f"'{n}' => '{v}'", "&#{:03};"),
    "hex numbers in html": lambda n, v: write_signs(f'"{n}": "{v}",', "&#x{:x};"),
    "element in html": lambda n, v: html.escape(f"<p><{n}>{html.escape(v)}</{n}></p>"),
    "unicode escaped": lambda n, v: f"{{\\u0022{n}\\u0022:\\u0022{v}\\u0022}}",
    "table": lambda n, v: f"| name | value |\n|---|---|\n| {n} | {v} |\n",
    "bold": lambda n, v: f"**{n}:** {v}\n",
    "log": lambda n, v: f"12:00 INFO connect user=ana {n}={v} host=a",
    "comment": lambda n, v: f"# {n}: {v}",
    "curly quotes": lambda n, v: f"{n} = “{v}”",
    "full width": lambda n, v: f"{n}：{v}，谢谢",
    "list item": lambda n, v: f"- {n}: {v}\n- host: a",
    "backtick": lambda n, v: f"{n}: `{v}`",
    "next line": lambda n, v: f"{n}:\n```\n{v}\n```\n",
    "connection string": lambda n, v: f"Server=a;User Id=c;{n.replace('_', '')}={v};Encrypt=true",
    "setter": lambda n, v: f'client.set_{n}("{v}")',
}
PASSWORD_NAMES = ("password", "db_password", "passwd", "smtp_pass", "admin_pwd", "passphrase")
SECRET_NAMES = (
    "api_key",
    "client_secret",
    "access_token",
    "auth_token",
    "secret_key",
    "private_key",
    "github_token",
)
ONLY_PASSWORDS: dict[str, Context] = {
    "url": lambda n, v: f"postgres://app:{quote(v, safe='')}@db.service.io:5432/app",
    "url without a name": lambda n, v: f"redis://:{quote(v, safe='')}@cache.service.io:6379/0",
    "url raw": lambda n, v: f"mongodb+srv://app:{v}@cluster.service.io/app?w=majority",
    "url escaped": lambda n, v: quote(f"amqp://app:{quote(v, safe='')}@mq.service.io", safe=""),
    "url in json": lambda n, v: json.dumps({"u": f"https://ana:{quote(v, safe='')}@host.io/x"}).replace(
        "/", "\\/"
    ),
    "go driver": lambda n, v: f"app:{v}x9@tcp(127.0.0.1:3306)/app",
    "curl": lambda n, v: f"curl -s -u ana:{v} https://api.service.io",
    "curl quoted": lambda n, v: f'curl --user "ana:{v}" https://api.service.io',
    "mysql": lambda n, v: f"mysql -uroot -p{v} shop < dump.sql",
    "sshpass": lambda n, v: f"sshpass -p '{v}' ssh ana@host",
    "docker login": lambda n, v: f"docker login -u ana -p {v} registry.service.io",
    "redis": lambda n, v: f"redis-cli -h a -a {v} ping",
    "netrc": lambda n, v: f"machine api.service.io login ana password {v}\n",
    "netrc lines": lambda n, v: f"machine api.service.io\n  login ana\n  password {v}\n",
    "pgpass": lambda n, v: f"db.service.io:5432:app:ana:{v}\n",
    "pgpass line written": lambda n, v: f'echo "db.service.io:5432:app:ana:{v}" >> ~/.pgpass',
    "sql": lambda n, v: f"CREATE USER ana WITH PASSWORD '{v}';",
    "mysql user": lambda n, v: f"ALTER USER 'ana'@'%' IDENTIFIED BY '{v}';",
    "redis configuration": lambda n, v: f"requirepass {v}\n",
    "echo": lambda n, v: f"echo '{v}' | sudo -S systemctl restart app",
    "basic": lambda n, v: "Authorization: Basic " + base64.b64encode(f"ana:{v}".encode()).decode(),
    "docker auth": lambda n, v: json.dumps(
        {"auths": {"r.io": {"auth": base64.b64encode(f"a:{v}".encode()).decode()}}}
    ),
    "npmrc": lambda n, v: "_auth=" + base64.b64encode(f"ana:{v}".encode()).decode(),
    "kubernetes secret": lambda n, v: f"data:\n  {n}: {base64.b64encode(v.encode()).decode()}\n",
    "openssl": lambda n, v: f"openssl pkcs12 -export -passout pass:{v} -out x",
    "chinese": lambda n, v: f"密码是{v}，请登录",
    "chinese colon": lambda n, v: f"数据库密码：{v}",
    "german": lambda n, v: f"Das Passwort: {v}\n",
    "powershell secure": lambda n, v: f'$p = ConvertTo-SecureString "{v}" -AsPlainText; $password = "{v}"',
}
ONLY_TOKENS: dict[str, Context] = {
    "bearer": lambda n, v: f'curl -H "Authorization: Bearer {v}" https://api.service.io',
    "bearer in code": lambda n, v: f"headers: {{ Authorization: `Bearer {v}` }}",
    "bearer in json": lambda n, v: json.dumps({"h": json.dumps({"Authorization": f"Bearer {v}"})}),
    "token scheme": lambda n, v: f"Authorization: token {v}",
    "header": lambda n, v: f"X-{n.replace('_', '-').title()}: {v}",
    "private token": lambda n, v: f"curl --header 'PRIVATE-TOKEN: {v}' https://git.service.io",
    "cookie": lambda n, v: f"Cookie: theme=dark; session={v}; lang=en",
    "set cookie": lambda n, v: f"Set-Cookie: sid={v}; Path=/; HttpOnly",
    "curl cookie": lambda n, v: f"curl -b 'sid={v}' https://api.service.io",
    "npmrc": lambda n, v: f"//registry.npmjs.org/:_authToken={v}",
    "amazon": lambda n, v: f"https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature={v}",
    "shared access": lambda n, v: (
        f"https://a.blob.core.windows.net/c?sv=2022-11-02&sr=c&sig={quote(v, safe='')}"
    ),
    "fragment": lambda n, v: f"http://localhost:3000/cb#access_token={v}&token_type=bearer",
    "slack hook": lambda n, v: f"https://hooks.slack.com/services/T0AB1CD2E/B0AB1CD2E/{v}",
    "discord hook": lambda n, v: f"https://discord.com/api/webhooks/123456789012345678/{v}",
    "kubeconfig": lambda n, v: f"users:\n- name: a\n  user:\n    token: {v}\n",
    "spoken": lambda n, v: f"my api key is {v}, keep it",
    "account key": lambda n, v: (
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={v};EndpointSuffix=b"
    ),
}


# Places by what a secret in them looks like; escapes as in Python.
PLACES = Path(__file__).parents[1] / "data" / "secrets" / "places.txt"
IN_PLACES: dict[str, tuple[Make, ...]] = {
    "password": (
        lambda rng: rng.choice(WORDS).title() + str(rng.randint(10, 99)) + "!x",
        lambda rng: rng.choice(WORDS).title() + str(rng.randint(10, 99)) + "x" + str(rng.randint(1, 9)),
    ),
    "token": (chars(B36, 20), chars(B62, 24)),
    "hex": (chars(HEX, 32), chars(HEX, 40)),
    "uuid": (some_uuid,),
}


def slips(secret: str, text: str) -> bool:
    """Whether the secret, or a half of it, can still be read."""
    half = max(5, (len(secret) + 1) // 2)
    return any(secret[at : at + half] in text for at in range(len(secret) - half + 1))


def planted_known() -> list[tuple[str, str, str]]:
    rng = random.Random(20261129)
    return [
        (f"{kind} in {frame}", secret := make(rng), place(secret))
        for (kind, make), (frame, place) in product(KNOWN.items(), FRAMES.items())
    ]


def planted_named() -> list[tuple[str, str, str]]:
    rng = random.Random(20261130)
    cases: list[tuple[str, str, str]] = []

    def plant(contexts: dict[str, Context], names: tuple[str, ...], values: dict[str, Make]) -> None:
        for (context, place), (kind, make) in product(contexts.items(), values.items()):
            name, secret = rng.choice(names), make(rng)
            cases.append((f"{name}, {kind} in {context}", secret, place(name, secret)))

    for _ in range(3):
        plant(ANY_NAME, PASSWORD_NAMES, PASSWORDS | NAMED)
        plant(ANY_NAME, SECRET_NAMES, NAMED)
        plant(ONLY_PASSWORDS, PASSWORD_NAMES, PASSWORDS)
        plant(ONLY_TOKENS, SECRET_NAMES, NAMED)
    return cases


def planted_in_places() -> list[tuple[str, str, str]]:
    rng = random.Random(20261201)
    cases: list[tuple[str, str, str]] = []
    for line in PLACES.read_text(encoding="utf-8").splitlines():
        kind, _, place = line.partition("\t")
        place = re.sub(
            r"\\([\\nrt])", lambda match: {"n": "\n", "r": "\r", "t": "\t"}.get(match[1], "\\"), place
        )
        cases += ((place, secret := make(rng), place.replace("<secret>", secret)) for make in IN_PLACES[kind])
    return cases


def assert_none_slips(cases: list[tuple[str, str, str]]) -> None:
    slipped = []
    for case, secret, text in cases:
        kept = redact(text)
        if slips(secret, kept) or slips(quote(secret, safe=""), kept):
            slipped.append(f"{case}: {secret!r} in {kept!r}")
    assert not slipped, f"{len(slipped)} of {len(cases)} slipped:\n" + "\n".join(slipped[:400])


def test_no_token_of_a_known_shape_survives_in_any_place():
    assert_none_slips(planted_known())


def test_no_value_behind_a_secrets_name_survives_in_any_syntax():
    assert_none_slips(planted_named())


def test_no_secret_survives_where_people_and_programs_put_it():
    assert_none_slips(planted_in_places())


def test_private_keys_survive_in_no_wrapping():
    rng = random.Random(7)
    lines = [encoded(48)(rng) for _ in range(12)] + [encoded(20)(rng)]
    kinds = (
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "EC PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    )
    for kind in kinds:
        begin, end = f"-----BEGIN {kind}-----", f"-----END {kind}-----"
        key = "\n".join([begin, *lines, end])
        for text in (
            key,
            f"here it is:\n{key}\nthank you",
            json.dumps({"private_key": key}),
            json.dumps(json.dumps({"private_key": key})),
            key.replace("\n", "\\n"),
            key.replace("\n", "\r\n"),
            key.replace("\n", "\n    "),
            key.replace("\n", "\n+"),
            key.replace("\n", "\n> "),
            "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(key.split("\n"), 1)),
            " + \n".join(f'"{line}\\n"' for line in key.split("\n")),
            quote(key, safe=""),
            key.rpartition("\n")[0],
            key[: len(key) // 2],
            key.partition("\n")[2],
            key[len(key) // 2 :],
        ):
            kept = redact(text)
            assert not any(slips(line, kept) for line in lines[1:-2]), text
            assert "[redacted:" in kept
        assert redact(f"see\n{key}\nthank you") == "see\n[redacted:private-key]\nthank you"


def secrets_stored(transcript, read) -> tuple[int, list[str]]:
    """Plant all secrets in transcripts, and return their number and those in the bytes that are stored."""
    rng = random.Random(20261202)
    cases = [*planted_known(), *planted_named(), *planted_in_places()]
    rng.shuffle(cases)
    found: list[str] = []
    for start in range(0, len(cases), 400):
        t = transcript()
        planted = cases[start : start + 400]
        for number, (_, _, text) in enumerate(planted):
            plant_in_a_record(t, number, text)
        stored = msgspec.msgpack.encode(read(t)).decode("utf-8", "replace")
        found += (case for case, secret, _ in planted if secret in stored or escaped(secret) in stored)
    return len(cases), found


def test_nothing_planted_in_a_transcript_is_stored(transcript, read):
    """Every kind of secret goes through every kind of record, down to the bytes of the index."""
    count, found = secrets_stored(transcript, read)
    assert count > 8000
    assert not found


def test_the_planted_secrets_would_be_stored_without_redaction(transcript, read, monkeypatch):
    cuts = {name: lambda text, limit: text[:limit] for name in ("redact_within", "redact_ends")}
    for name, module in list(sys.modules.items()):
        for redacts, cut in cuts.items():
            if name.startswith("skillopt_harvesters.") and hasattr(module, redacts):
                monkeypatch.setattr(module, redacts, cut)
    # What was redacted before is remembered, and what is not redacted now must not be.
    calls._redact_repeated.cache_clear()
    count, found = secrets_stored(transcript, read)
    calls._redact_repeated.cache_clear()
    assert len(found) > count * 0.8


def plant_in_a_record(t, number: int, text: str) -> None:
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a "
        "file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
    )
    kind = number % 9
    if kind == 6 and not text.isalnum():
        kind = 0
    if kind == 0:
        t.user(text)
    elif kind == 1:
        t.user([{"type": "text", "text": "look at this"}, {"type": "text", "text": text}])
    elif kind == 2:
        t.agent(text)
    elif kind == 3:
        t.call(command=text, result=text, outcome={"stdout": text, "stderr": "", "interrupted": False})
    elif kind == 4:
        t.call(command="run it", result=f"Exit code 1\n{text}", error=True, outcome=f"Error: {text}")
    elif kind == 5:
        t.call(command="push", result=refused + text, error=True, feedback=text)
    elif kind == 6:
        t.call(
            name="Edit",
            file_path=f"/home/user/project/{text}",
            old_string=text,
            new_string=json.dumps({"deep": [text]}),
        )
    elif kind == 7:
        t.user(f"<command-name>/deploy</command-name>\n<command-args>{text}</command-args>")
    else:
        t.user(f"<bash-input>{text}</bash-input>")
    if kind in {0, 1, 7, 8}:
        t.agent("done")


@pytest.mark.parametrize("depth", range(6))
def test_secrets_are_found_at_every_depth_of_json_in_strings(depth):
    rng = random.Random(depth)
    for make, password in product(NAMED.values(), PASSWORDS.values()):
        secret, word = make(rng), password(rng)
        text = json.dumps({"db_password": word, "n": [1, {"api_key": secret}]})
        for _ in range(depth):
            text = json.dumps({"arguments": text, "id": 7})
        kept = redact(text)
        assert secret not in kept
        assert word not in kept
        assert kept.count("[redacted:") == 2


@pytest.mark.parametrize("kind", [*KNOWN])
def test_a_cut_leaves_no_half_of_a_secret(kind):
    rng = random.Random(kind)
    secret = KNOWN[kind](rng)
    for limit in range(10, 80, 7):
        kept = redact_within(f"this is the word {secret} " + "and so on " * 2000, limit)
        assert len(kept) <= limit
        assert not slips(secret, kept)


def test_a_secret_at_the_end_of_what_is_looked_at_is_left_out():
    rng = random.Random(3)
    for kind, make in KNOWN.items():
        secret = make(rng)
        payload = base64.b64encode(rng.randbytes(9000)).decode()
        # The payload shrinks to a mark, so that the end of the window moves to the front.
        for cut in range(2, len(secret), 5):
            start = 20 + 8192 - len(payload) % 100 - cut
            text = (payload + payload)[: start - 1] + " " + secret + " tail" * 9000
            assert not slips(secret, redact_within(text, 20)), kind
