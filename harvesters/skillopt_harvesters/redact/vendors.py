"""Shapes of the credentials that services hand out, as far as their prefix makes them certain."""

from __future__ import annotations

import re

# Kind and shape, one a line. A shape is a prefix and then one class of characters with a least count, or
# parts of bounded length: it fails within that many characters or takes what it has read, so that a search
# stays linear.
# <uuid> stands for a UUID, <digit> looks ahead for a digit, which words with hyphens lack.
_SHAPES = r"""
jwt               eyJ[\w-]{14,}(?:\.[\w-]+){0,4}
github-token      gh[pousr]_\w{16,}
github-token      github_pat_\w{16,}
gitlab-token      gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w.-]{16,}
gitlab-token      GR1348941[\w-]{16,}
slack-token       xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}
slack-token       x(?:app|wfp)-[A-Za-z0-9-]{8,}
aws-key           (?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])
aws-key           ABSK[A-Za-z0-9+/=]{60,}
aws-key           bedrock-api-key-[A-Za-z0-9+/=]{20,}
aws-key           amzn\.mws\.<uuid>
google-key        AIza[\w-]{30,}
google-key        ya29\.[\w.-]{20,}
google-key        GOCSPX-[\w-]{20,}
google-key        1//0[\w-]{20,}
google-key        AQ\.Ab8[\w-]{20,}
azure-key         [A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{24,}
atlassian-token   AT(?:ATT|CTT|STT|OTT)3[\w=.+/-]{20,}
atlassian-token   ATBB[A-Za-z0-9]{24,}
atlassian-token   ATTA[0-9a-f]{40,}
atlassian-token   BBDC-[\w+/@-]{20,}
openai-key        sk-(?:proj|svcacct|admin|None)-[\w-]{12,}
openai-key        sk-[A-Za-z0-9]{12,24}T3BlbkFJ[\w-]{12,}
anthropic-key     sk-ant-[\w-]{12,}
stripe-key        [srp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}
stripe-key        whsec_[A-Za-z0-9+/=_-]{16,}
api-key           [srp]k[-_]<digit>[\w-]{16,}
api-key           [srp]k[-_][A-Za-z0-9]{20,}
ai-key            (?:gsk|xai|pplx|csk|fw|jina|tvly|pcsk|r8|hf|e2b|nvapi)[_-]<digit>[\w-]{16,}
ai-key            (?:lsv2_pt|lsv2_sk|tgp_v1|sk_car|bb_live|apify_api)[_-]<digit>[\w-]{16,}
ai-key            (?:gsk|pplx|pcsk|r8|hf|api_org|nvapi)[_-][A-Za-z]{20,}
ai-key            fc-[0-9a-f]{32}
ai-key            pa-[A-Za-z0-9_-]{40,}
npm-token         npm_[A-Za-z0-9]{20,}
pypi-token        pypi-AgE[\w-]{16,}
pypi-token        pypi-<digit>[\w-]{24,}
registry-token    rubygems_[0-9a-f]{20,}
registry-token    cio[A-Za-z0-9]{32}(?![A-Za-z0-9])
registry-token    dckr_[a-z]{2,5}_[\w-]{16,}
registry-token    oy2[a-z0-9]{43}
registry-token    CLOJARS_[A-Za-z0-9]{32,}
registry-token    AKCp[A-Za-z0-9]{40,}
registry-token    cmVmdGtuO[A-Za-z0-9]{20,}
cloud-token       do[opr]_v1_[0-9a-f]{32,}
cloud-token       v1\.0-[0-9a-f]{24}-[0-9a-f]{60,}
cloud-token       HRKU-[\w-]{20,}
cloud-token       fo1_[\w-]{20,}
cloud-token       fm(?:1[ar]|2)_[A-Za-z0-9+/=]{20,}
cloud-token       vercel_blob_rw_\w{16,}
cloud-token       vc[pkaris]_[A-Za-z0-9]{24,}
cloud-token       nf[pcobu]_[A-Za-z0-9]{24,}
cloud-token       sbp_(?:[a-z]{2,8}_)?[0-9a-f]{32,}
cloud-token       sb_(?:secret|publishable)_[\w-]{16,}
cloud-token       pscale_[a-z]{2,8}_[\w.=-]{16,}
cloud-token       napi_[A-Za-z0-9]{24,}
cloud-token       rnd_[A-Za-z0-9]{20,}
cloud-token       mdb_sa_sk_[\w-]{16,}
cloud-token       AVNS_[\w-]{10,}
cloud-token       LTAI[A-Za-z0-9]{12,}
cloud-token       AKID[A-Za-z0-9]{32}
cloud-token       AQVN[\w-]{35,}
cloud-token       dapi[0-9a-f]{32}
cloud-token       dose[0-9a-f]{32}
cloud-token       dbt[uc]_[\w=-]{20,}
cloud-token       pn[ub]_[A-Za-z0-9]{24,}
cloud-token       tskey-[a-z]{2,12}-[\w-]{16,}
cloud-token       sha256~[\w-]{40,}
cloud-token       SCW[A-Z0-9]{17}(?![A-Z0-9])
monitoring-key    sntry[a-z]_[\w+/=.-]{20,}
monitoring-key    NR(?:AK|RA|II|SP)-[\w-]{20,}
monitoring-key    NRJS-[0-9a-f]{19}
monitoring-key    [0-9a-f]{32}(?:[0-9a-f]{4}|FFFF)NRAL
monitoring-key    glsa_\w{20,}
monitoring-key    glc_[A-Za-z0-9+/=]{20,}
monitoring-key    dt0[a-z][0-9]{2}\.[A-Z0-9]{20,28}\.[A-Z0-9]{40,}
monitoring-key    hc[a-z]{2}[kc]_[a-z0-9]{20,}
monitoring-key    essu_[A-Za-z0-9+/=]{20,}
monitoring-key    ph[cx]_[A-Za-z0-9]{20,}
monitoring-key    xa[ap]t-[0-9a-f-]{32,}
monitoring-key    (?:sdk|mob|api)-<uuid>
ci-token          CCIP(?:AT|RJ)_\w{16,}
ci-token          bk[a-z]{2}_[0-9a-f]{32,}
ci-token          sq[upa]_[0-9a-f]{32,}
ci-token          API-[A-Z0-9]{20,}
ci-token          [A-Za-z0-9]{14}\.atlasv1\.[\w=-]{20,}
ci-token          pul-[0-9a-f]{32,}
ci-token          sgp_(?:[0-9a-zA-Z]{5,16}_)?[0-9a-f]{32,}
ci-token          slk_[0-9a-f]{32,}
ci-token          perm[:-][\w=-]{4,256}\.[\w=-]{4,256}\.[\w=-]{10,}
ci-token          snyk_[a-z]{2,4}\.[\w.-]{16,}
ci-token          [ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}
vault-token       hv[sbr]\.[\w-]{20,}
vault-token       s\.(?=[A-Za-z]{0,23}[0-9])[A-Za-z0-9]{24}(?![A-Za-z0-9])
vault-token       dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}
vault-token       ops_eyJ[\w+/=-]{20,}
vault-token       A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}
vault-token       AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,20})-1[A-Z0-9]{20,}
wallet-key        [xyz]prv[A-Za-z0-9]{80,}
app-token         PMA[KT]-[\w-]{20,}
app-token         lin_(?:api|oauth)_[A-Za-z0-9]{20,}
app-token         ntn_[A-Za-z0-9]{20,}
app-token         secret_[A-Za-z0-9]{40,}
app-token         fig[a-z]{1,2}_<digit>[\w-]{20,}
app-token         pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}
app-token         pat-(?:na|eu|ap)[0-9]-<uuid>
app-token         shp(?:at|ss|ca|pa|tka|ua|rt)_[0-9a-fA-F]{20,}
app-token         sq0[a-z]{3}-[\w-]{16,}
app-token         EAAA[\w-]{40,}
app-token         EAA[A-Za-z0-9]{60,}
app-token         rzp_(?:live|test)_[A-Za-z0-9]{10,}
app-token         FLW[A-Z]{4,6}(?:_TEST)?-[A-Za-z0-9-]{12,}
app-token         sl\.(?:u\.)?[\w-]{60,}
app-token         tfp_[\w.-]{20,}
app-token         CFPAT-[\w-]{20,}
app-token         rdme_[a-z0-9]{40,}
app-token         EZ[AT]K[A-Za-z0-9]{40,}
app-token         access-(?:sandbox|development|production)-<uuid>
app-token         shippo_(?:live|test)_[0-9a-f]{20,}
app-token         duffel_(?:live|test)_[\w-]{20,}
app-token         tk-us-[\w-]{40,}
app-token         ico-[A-Za-z0-9]{32}
app-token         fio-u-[\w-]{40,}
app-token         [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk
app-token         A{20}[\w%-]{40,}
message-key       SG\.[\w-]{16,}(?:\.[\w-]+)?
message-key       key-[0-9a-f]{32}
message-key       [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])
message-key       [0-9a-f]{32}-us[0-9]{1,2}(?![0-9])
message-key       md-[A-Za-z0-9_-]{22}(?![\w-])
message-key       x(?:keysib|smtpsib)-[0-9a-f]{40,}[\w-]*
message-key       re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
message-key       AC[0-9a-f]{32}:[0-9a-f]{32}
message-key       (?:SK|AC)[0-9a-f]{32}(?![0-9a-f])
message-key       [0-9]{6,12}:A[\w-]{32,}
message-key       [MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{25,}
api-key           (?:[a-z0-9]{1,12}_)?<purpose>_<digits>[A-Za-z0-9]{20,}
"""
_MEANINGS = {
    "<uuid>": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "<digit>": r"(?=[A-Za-z_-]{0,40}[0-9])",
    "<purpose>": "(?:live|test|prod|secret|api|pat|key|token|sk|pk)",
    "<digits>": r"(?=[A-Za-z]{0,24}[0-9][A-Za-z]{0,24}[0-9])",
}

# A token begins where a word does: also behind the last letter of an escape (\n, %20, \u003d) or of a
# colour (\x1b[32m).
_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2})"
    r"|(?<=\[[0-9]m)|(?<=[\[;][0-9]{2}m))"
)


def _compile(table: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return one pattern of all shapes, and the kind by the name of the group that matched."""
    shapes: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        kind, shape = line.split()
        for mark, meaning in _MEANINGS.items():
            shape = shape.replace(mark, meaning)
        shapes.setdefault(kind, []).append(shape)
    kinds = {kind.replace("-", "_"): kind for kind in shapes}
    groups = (f"(?P<{name}>{'|'.join(shapes[kind])})" for name, kind in kinds.items())
    return re.compile(f"{_START}(?:{'|'.join(groups)})", re.ASCII), kinds


_TOKEN, _KINDS = _compile(_SHAPES)


def find_known(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Return start, end and kind of the known tokens that lie in text[start:end]."""
    return [(*match.span(), _KINDS[match.lastgroup or ""]) for match in _TOKEN.finditer(text, start, end)]
