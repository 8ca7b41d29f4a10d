"""A world nothing was fitted to: other families, things, languages and noise than the workshop's."""

from __future__ import annotations

from tests.harvesters.planted.make import Family, World

_CHECKLIST = """## User Input

```text
{x}
```

Consider what the user typed before anything else, if there is something.

## Outline

1. Ask up to three questions whose answers change what belongs on the list, and wait for them.
2. Load only the parts of the documents that the answers make relevant; summarise long sections.
3. Write items that test the requirements themselves, their completeness, clarity and consistency, and never
   whether the implementation works.
4. Number the items, group them by quality, and trace four out of five to a section of the specification.
5. Say where the file is, how many items it has, and what depth and audience were chosen.
"""
_ANALYZE = """## User Input

```text
{x}
```

Consider what the user typed before anything else, if there is something.

## Outline

1. Change nothing: this is a report. Stop when one of the three documents is missing.
2. Build an inventory of requirements, of user actions and of the tasks that cover them.
3. Detect duplicates, vague adjectives without a measure, underspecified items and conflicts with the
   constitution.
4. Give every finding a severity, at most fifty in all, and aggregate the rest in one line.
5. Print the table of findings, the coverage per requirement, and the metrics.
6. Offer to suggest concrete edits for the worst findings, and do not make them.
"""
_INCIDENT = """\
We had an outage of {x} last night. Read the alerts, the deploy log and the chat export that I put
into the folder, and reconstruct a timeline in UTC with one line per event. Separate what we knew at
the time from what we know now. Name the trigger, the contributing factors and the things that went
well, but no persons. Propose three actions that would have prevented it or shortened it, each with
an owner role and a date, and estimate for each how much it would have helped. Keep the whole under
two pages, and put open questions at the end."""

HELD_OUT = World(
    families=(
        Family(
            "terraform",
            ("Write a terraform module for {x}", "Describe {x} in terraform", "{x} needs a terraform module"),
            (
                "Pin the provider version in required_providers",
                "No, variables belong into variables.tf with a type",
            ),
            share=3,
        ),
        Family(
            "dashboard",
            ("Build a grafana dashboard for {x}", "Put the golden signals of {x} on a board"),
            ("That's wrong, use the recording rules and not raw queries",),
            skill="observability",
            share=2,
        ),
        Family("alert", ("Write an alert for {x}", "Create an alert rule that fires on {x}"), share=2),
        Family(
            "silence-alert",
            ("Silence the alert for {x}", "Mute the alert of {x} until tomorrow"),
            ("no, at most four hours and with a ticket in the comment",),
        ),
        Family(
            "tune-alert",
            ("Tune the alert for {x}", "The {x} alert is too noisy, tune it"),
            ("don't raise the threshold, lengthen the window",),
        ),
        Family(
            "runbook",
            (
                "Write a runbook for {x}",
                "Draft the runbook of {x}",
                "What should on-call do when {x} is down? Write it up",
            ),
            ("Start every step with the command to paste", "You left out how to roll back"),
            skill="runbooks",
            share=2,
        ),
        Family(
            "ja-test",
            ("{x}のテストを書いて", "{x}のテストコードを追加して"),
            nouns=(
                "注文処理",
                "在庫管理",
                "会員登録",
                "決済画面",
                "配送計算",
                "検索機能",
                "通知設定",
                "予約一覧",
            ),
        ),
        Family(
            "ja-explain",
            ("{x}の仕組みを説明して", "{x}の仕組みを教えて"),
            nouns=(
                "注文処理",
                "在庫管理",
                "会員登録",
                "決済画面",
                "配送計算",
                "検索機能",
                "通知設定",
                "予約一覧",
            ),
        ),
        Family(
            "zh-optimize",
            ("优化{x}的查询性能", "{x}的查询太慢了,优化一下性能"),
            nouns=(
                "订单列表",
                "库存报表",
                "会员中心",
                "支付页面",
                "物流跟踪",
                "消息推送",
                "权限管理",
                "数据导入",
            ),
        ),
        Family(
            "zh-translate",
            ("把{x}翻译成英文", "请将{x}翻译成英文"),
            nouns=(
                "订单列表",
                "库存报表",
                "会员中心",
                "支付页面",
                "物流跟踪",
                "消息推送",
                "权限管理",
                "数据导入",
            ),
        ),
        Family(
            "fr-mail",
            ("Rédige un mail aux clients sur {x}", "Écris un mail à nos clients à propos de {x}"),
            ("Non, vouvoie les clients et signe au nom de l'équipe",),
            skill="courriels",
        ),
        Family("pt-data", ("Gera dados de teste para {x}", "Cria dados de teste fictícios para {x}")),
        Family(
            "rollback",
            ("Roll back {x} to the previous version", "Undeploy the last version of {x}"),
            ("You have to drain the queue before that", "No, keep the config map of the new version"),
        ),
        Family(
            "move", ("Move `{x}` from `{y}` into its own file", "move `{x}` out of `{y}` into a new file")
        ),
        Family(
            "cost",
            ("Estimate what {x} costs us per month", "How much do we pay for {x} each month? Estimate it"),
            ("Include the egress traffic, please",),
            skill="cloud-costs",
        ),
        Family(
            "storybook",
            ("Add a story for the {x} component", "Write storybook stories for the {x} component"),
            nouns=(
                "date picker",
                "avatar",
                "breadcrumb",
                "modal",
                "toast",
                "tab bar",
                "side drawer",
                "progress ring",
            ),
        ),
        Family(
            "a11y",
            (
                "Check the {x} component with a screen reader in mind",
                "Audit the accessibility of the {x} component",
            ),
            ("Cite the WCAG criterion for each finding", "no, contrast first"),
            skill="a11y",
            nouns=(
                "date picker",
                "avatar",
                "breadcrumb",
                "modal",
                "toast",
                "tab bar",
                "side drawer",
                "progress ring",
            ),
        ),
        Family("checklist", (_CHECKLIST,)),
        Family("analyze", (_ANALYZE,)),
        Family("incident", (_INCIDENT,)),
        Family("triage", ("{x}", "{x} and then {y}"), command="/triage"),
    ),
    nouns=(
        "the ingress",
        "the payment worker",
        "the nightly export",
        "redis",
        "the bastion host",
        "deploy/helm/values.yaml",
        "object storage",
        "the mail relay",
        "the edge cache",
        "kafka-consumer",
        "the license server",
        "build runners",
        "the audit pipeline",
        "SessionBroker",
        "the status page",
        "vpn gateway",
        "the search cluster",
        "feature_store",
    ),
    alone=(
        "Who changed the ingress annotations in May?",
        "Is redis persistent in staging?",
        "Give the payment worker a second replica and a pod disruption budget",
        "Compare the three vendors for object storage",
        "The nightly export stopped, find out since when",
        "Turn the bastion host off on weekends",
        "Rotate the tokens of the mail relay",
        "Explain the difference between readiness and liveness",
        "Rewrite the makefile as a justfile",
        "Which of our images still run as root?",
        "Add a favicon to the status page",
        "Set up renovate for this repository",
        "Draw the network of the vpn gateway",
        "Drop python 3.9 from the matrix",
        "Replace the search cluster by postgres full text",
        "Find dead links in the handbook",
        "なぜビルドが失敗したのか調べて",
        "把默认端口改成八千零八十",
        "Pourquoi le pipeline est-il rouge depuis hier ?",
        "Port the audit pipeline from airflow to dagster",
        "Make the edge cache honour stale-while-revalidate",
        "Sort the imports of the whole repository",
        "What would break if we removed kafka-consumer?",
        "Encrypt the backups with age instead of gpg",
        "Count the open tickets by label",
        "Split values.yaml by environment",
        "Write me a limerick about yaml",
        "Measure cold starts of build runners",
        "Let the license server listen on a unix socket",
        "Convert the diagrams to mermaid",
        "Why is the toast shown behind the modal?",
        "Trim the docker build context",
        "Pin all github actions by digest",
        "Bring the glossary up to date",
        "Try whether the tests pass on arm",
        "Simulate the loss of one availability zone",
    ),
    projects=("/srv/platform", "/srv/frontend", "/srv/data", "/srv/tools"),
    generic=(
        "nope, wrong again",
        "that did not help",
        "no, use podman, not docker",
        "please redo it",
        "you forgot something",
        "this is still broken",
        "不对,重来",
    ),
    habits=("think-first", "team-style"),
    seconds=("now write the commit message", "deploy it to staging"),
)
