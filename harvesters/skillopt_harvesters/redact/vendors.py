"""Shapes of the credentials that services hand out, as far as their prefix makes them certain.

Every shape is a prefix and then one class of characters with a least count, or parts of a bounded length: it
fails within that many characters or takes what it has read, so that a search stays linear.
"""

from __future__ import annotations

import re

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_SHAPES: tuple[tuple[str, str], ...] = (
    ("jwt", r"eyJ[\w-]{14,}(?:\.[\w-]+){0,4}"),
    ("github-token", r"gh[pousr]_[A-Za-z0-9_]{16,} | github_pat_\w{16,}"),
    ("gitlab-token", r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w.-]{16,} | GR1348941[\w-]{16,}"),
    ("slack-token", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,} | x(?:app|wfp)-[A-Za-z0-9-]{8,}"),
    (
        "aws-key",
        r"(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"
        r" | ABSK[A-Za-z0-9+/=]{60,} | bedrock-api-key-[A-Za-z0-9+/=]{20,}"
        rf" | amzn\.mws\.{_UUID}",
    ),
    ("google-key", r"AIza[\w-]{30,} | ya29\.[\w.-]{20,} | GOCSPX-[\w-]{20,} | 1//0[\w-]{20,} | AQ\.Ab8[\w-]{20,}"),
    ("azure-key", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{24,}"),
    ("atlassian-token", r"AT(?:ATT|CTT|STT|OTT)3[\w=.+/-]{20,} | ATBB[A-Za-z0-9]{24,} | ATTA[0-9a-f]{40,} | BBDC-[\w+/@-]{20,}"),
    ("openai-key", r"sk-(?:proj|svcacct|admin|None)-[\w-]{12,} | sk-[A-Za-z0-9]{12,24}T3BlbkFJ[\w-]{12,}"),
    ("anthropic-key", r"sk-ant-[\w-]{12,}"),
    ("stripe-key", r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9+/=_-]{16,}"),
    ("api-key", r"[srp]k[-_](?=[A-Za-z_-]{0,40}[0-9])[\w-]{16,} | [srp]k[-_][A-Za-z0-9]{20,}"),
    (
        "ai-key",
        r"(?:gsk|xai|pplx|csk|fw|jina|tvly|pcsk|r8|hf|e2b|nvapi|lsv2_pt|lsv2_sk|tgp_v1|sk_car|bb_live|apify_api)"
        r"[_-](?=[A-Za-z_-]{0,40}[0-9])[\w-]{16,}"
        r" | (?:gsk|pplx|pcsk|r8|hf|api_org|nvapi)[_-][A-Za-z]{20,} | fc-[0-9a-f]{32} | pa-[A-Za-z0-9_-]{40,}",
    ),
    ("npm-token", r"npm_[A-Za-z0-9]{20,}"),
    ("pypi-token", r"pypi-AgE[\w-]{16,} | pypi-(?=[A-Za-z_-]{0,40}[0-9])[\w-]{24,}"),
    (
        "registry-token",
        r"rubygems_[0-9a-f]{20,} | cio[A-Za-z0-9]{32}(?![A-Za-z0-9]) | dckr_[a-z]{2,5}_[\w-]{16,} | oy2[a-z0-9]{43}"
        r" | CLOJARS_[A-Za-z0-9]{32,} | AKCp[A-Za-z0-9]{40,} | cmVmdGtuO[A-Za-z0-9]{20,}",
    ),
    (
        "cloud-token",
        r"do[opr]_v1_[0-9a-f]{32,} | v1\.0-[0-9a-f]{24}-[0-9a-f]{60,} | HRKU-[\w-]{20,} | fo1_[\w-]{20,}"
        r" | fm(?:1[ar]|2)_[A-Za-z0-9+/=]{20,} | vercel_blob_rw_\w{16,} | vc[pkaris]_[A-Za-z0-9]{24,}"
        r" | nf[pcobu]_[A-Za-z0-9]{24,} | sbp_(?:[a-z]{2,8}_)?[0-9a-f]{32,} | sb_(?:secret|publishable)_[\w-]{16,}"
        r" | pscale_[a-z]{2,8}_[\w.=-]{16,} | napi_[A-Za-z0-9]{24,} | rnd_[A-Za-z0-9]{20,} | mdb_sa_sk_[\w-]{16,}"
        r" | AVNS_[\w-]{10,} | LTAI[A-Za-z0-9]{12,} | AKID[A-Za-z0-9]{32} | AQVN[\w-]{35,} | dapi[0-9a-f]{32}"
        r" | dose[0-9a-f]{32} | dbt[uc]_[\w=-]{20,} | pn[ub]_[A-Za-z0-9]{24,} | tskey-[a-z]{2,12}-[\w-]{16,}"
        r" | sha256~[\w-]{40,} | shpua_[0-9a-f]{20,} | SCW[A-Z0-9]{17}(?![A-Z0-9])",
    ),
    (
        "monitoring-key",
        r"sntry[a-z]_[\w+/=.-]{20,} | NR(?:AK|RA|II|SP)-[\w-]{20,} | NRJS-[0-9a-f]{19}"
        r" | [0-9a-f]{32}(?:[0-9a-f]{4}|FFFF)NRAL"
        r" | glsa_\w{20,} | glc_[A-Za-z0-9+/=]{20,} | dt0[a-z][0-9]{2}\.[A-Z0-9]{20,28}\.[A-Z0-9]{40,}"
        r" | hc[a-z]{2}[kc]_[a-z0-9]{20,} | essu_[A-Za-z0-9+/=]{20,} | ph[cx]_[A-Za-z0-9]{20,} | xa[ap]t-[0-9a-f-]{32,}"
        rf" | (?:sdk|mob|api)-{_UUID}",
    ),
    (
        "ci-token",
        r"CCIP(?:AT|RJ)_\w{16,} | bk[a-z]{2}_[0-9a-f]{32,} | sq[upa]_[0-9a-f]{32,} | API-[A-Z0-9]{20,}"
        r" | [A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,} | pul-[0-9a-f]{32,} | sgp_(?:[0-9a-zA-Z]{5,16}_)?[0-9a-f]{32,}"
        r" | slk_[0-9a-f]{32,} | perm[:-][\w=-]{4,256}\.[\w=-]{4,256}\.[\w=-]{10,} | snyk_[a-z]{2,4}\.[\w.-]{16,}"
        r" | [ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    ),
    (
        "vault-token",
        r"hv[sbr]\.[\w-]{20,} | s\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9]) | dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"
        r" | ops_eyJ[\w+/=-]{20,} | A3-[A-Z0-9]{6}-[A-Z0-9-]{20,} | AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,20})-1[A-Z0-9]{20,}"
        r" | xprv[A-Za-z0-9]{80,}",
    ),
    (
        "app-token",
        r"PMA[KT]-[\w-]{20,} | lin_(?:api|oauth)_[A-Za-z0-9]{20,} | ntn_[A-Za-z0-9]{20,} | secret_[A-Za-z0-9]{40,}"
        r" | fig[a-z]{1,2}_(?=[A-Za-z_-]{0,40}[0-9])[\w-]{20,} | pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}"
        rf" | pat-(?:na|eu|ap)[0-9]-{_UUID} | shp(?:at|ss|ca|pa|tka|ua|rt)_[0-9a-fA-F]{{20,}} | sq0[a-z]{{3}}-[\w-]{{16,}}"
        r" | EAAA[\w-]{40,} | EAA[A-Za-z0-9]{60,} | rzp_(?:live|test)_[A-Za-z0-9]{10,} | FLW[A-Z]{4,6}(?:_TEST)?-[A-Za-z0-9-]{12,}"
        r" | sl\.(?:u\.)?[\w-]{60,} | tfp_[\w.-]{20,} | CFPAT-[\w-]{20,} | rdme_[a-z0-9]{40,} | EZ[AT]K[A-Za-z0-9]{40,}"
        rf" | access-(?:sandbox|development|production)-{_UUID} | shippo_(?:live|test)_[0-9a-f]{{20,}}"
        r" | duffel_(?:live|test)_[\w-]{20,} | tk-us-[\w-]{40,} | ico-[A-Za-z0-9]{32} | fio-u-[\w-]{40,}"
        r" | [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk | A{20}[\w%-]{40,}",
    ),
    (
        "message-key",
        r"SG\.[\w-]{16,}(?:\.[\w-]+)? | key-[0-9a-f]{32} | [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])"
        r" | [0-9a-f]{32}-us[0-9]{1,2}(?![0-9]) | md-[A-Za-z0-9_-]{22}(?![\w-]) | x(?:keysib|smtpsib)-[0-9a-f]{40,}[\w-]*"
        r" | re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,} | (?:SK|AC)[0-9a-f]{32}(?![0-9a-f])"
        r" | [0-9]{6,12}:A[\w-]{32,} | [MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{25,}",
    ),
    # A prefix that says what it is, and a tail no identifier has.
    (
        "api-key",
        r"(?:[a-z0-9]{1,12}_)?(?:live|test|prod|secret|api|pat|key|token|sk|pk)_"
        r"(?=[A-Za-z]{0,24}[0-9][A-Za-z]{0,24}[0-9])[A-Za-z0-9]{20,}",
    ),
)

# A token begins where a word does: also behind the last letter of an escape (\n, %20, \u003d)
# or of a colour (\x1b[32m).
_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2})"
    r"|(?<=\[[0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_GROUPED = " | ".join(f"(?P<g{number}> {shape} )" for number, (_, shape) in enumerate(_SHAPES))
_TOKEN = re.compile(f"{_START} (?: {_GROUPED} )", re.VERBOSE | re.ASCII)
_KINDS = {f"g{number}": kind for number, (kind, _) in enumerate(_SHAPES)}


def find_known(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Return start, end and kind of the known tokens that lie in text[start:end]."""
    return [
        (*match.span(), _KINDS[match.lastgroup or ""]) for match in _TOKEN.finditer(text, start, end)
    ]
