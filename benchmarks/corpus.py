#!/usr/bin/env python3
"""Generate a deterministic, synthetic corpus of Claude Code style transcripts.

Purpose: a performance and correctness baseline for transcript harvesters. Everything
is made up; no real session is read. The same arguments always give the same bytes
(file mtimes included), so two tools can be timed on an identical corpus.

Layout written below OUT (pass OUT as the tool's "claude home"):

    OUT/history.jsonl
    OUT/projects/<slug>/<session-uuid>.jsonl                  interactive sessions
    OUT/projects/<slug>/<session-uuid>/subagents/agent-*.jsonl sub-agent sidechains
    OUT/projects/<slug>/agent-*.jsonl                          old-style sidechains
    OUT/truth.json                                             what was planted

Record types emitted, one JSON object per line: summary, file-history-snapshot, user
(string content, block content, tool_result content, isMeta, isCompactSummary),
assistant (one record per content block, as Claude Code writes them: thinking, text,
tool_use incl. the Skill tool), system.

truth.json names, per file: kind (interactive | headless | oneshot | resumed), project,
task family, outcome planted (ok | corrected | abandoned), first and last timestamp,
skill used. A harvester's output can be scored against it.

Usage:
    python3 benchmarks/corpus.py --out corpus/.claude --files 500 --mb 200
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
from datetime import datetime, timedelta, timezone

PROJECTS = [
    "/home/dev/work/payments-api",
    "/home/dev/work/web-storefront",
    "/home/dev/work/data-pipeline",
    "/home/dev/work/infra-live",
    "/home/dev/oss/parser-kit",
    "/home/dev/oss/tui-widgets",
    "/home/dev/lab/notebooks",
    "/home/dev/work/mobile-app",
]

# family -> (ask templates, correction templates, skill)
FAMILIES = {
    "changelog": (
        [
            "Write the changelog entry for {x}",
            "Add a CHANGELOG line for {x}",
            "Draft release notes covering {x}",
        ],
        [
            "No, group it under Fixed and link the issue number",
            "Still not right: we use past tense and end with the PR number",
        ],
        "release-notes",
    ),
    "migration": (
        [
            "Create a database migration that adds {x}",
            "Add a migration for {x}",
            "Generate the alembic migration to introduce {x}",
        ],
        ["You forgot the downgrade path, add it", "That's wrong, it must be online-safe, no table lock"],
        "db-migrations",
    ),
    "testfix": (
        [
            "The test for {x} fails on CI, fix it",
            "Fix the failing test around {x}",
            "pytest is red for {x}, please repair",
        ],
        ["Still failing, you edited the assertion instead of the code", "No, do not skip the test"],
        "",
    ),
    "review": (
        [
            "Review my diff for {x}",
            "Do a code review of the {x} change",
            "Look over the {x} patch and comment",
        ],
        ["Sort findings by severity and cite file:line", "You missed error handling"],
        "code-review",
    ),
    "sql": (
        [
            "Write a SQL query that reports {x} per day",
            "Give me SQL for {x} grouped by day",
            "Query daily {x} please",
        ],
        ["Use UTC dates, the numbers are off", "Not working: it double counts refunds"],
        "",
    ),
    "dockerfile": (
        ["Slim down the Dockerfile for {x}", "Make the {x} image smaller", "Reduce image size of {x}"],
        ["Pin the base image by digest", "It runs as root, that's not allowed here"],
        "containers",
    ),
    "commit": (
        ["Commit the {x} work", "Make a commit for {x}", "Write a commit message for {x}"],
        ["Use imperative mood and keep the subject under 50 characters", "No trailers please"],
        "",
    ),
    "docs": (
        ["Document the {x} module", "Write README docs for {x}", "Add docstrings to {x}"],
        ["Too long. One short paragraph and an example", "Add the CLI flags table"],
        "docs-style",
    ),
    "ci": (
        [
            "Speed up the CI job for {x}",
            "Cache dependencies in the {x} workflow",
            "CI for {x} takes forever, improve it",
        ],
        ["The cache key must include the lockfile hash", "Revert that, it broke the matrix"],
        "",
    ),
    "api": (
        ["Add a REST endpoint for {x}", "Expose {x} over the API", "Create GET /{x}"],
        ["Validate the input and return problem+json", "Missing pagination"],
        "api-style",
    ),
}
NOUNS = [
    "invoice export",
    "retry queue",
    "login form",
    "search index",
    "rate limiter",
    "audit log",
    "webhook signer",
    "price cache",
    "session store",
    "feature flags",
    "csv importer",
    "thumbnailer",
    "job scheduler",
    "email digest",
    "tax rules",
    "geo lookup",
    "refund flow",
    "metrics sink",
]
OK_REPLIES = [
    "Thanks, that works now.",
    "Perfect, ship it.",
    "LGTM.",
    "Great, looks good.",
    "Nice, thank you",
]
META = [
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
    "<local-command-stdout></local-command-stdout>",
    "/compact",
    "Caveat: The messages below were generated by the user while running local commands.",
]
WORDS = (
    "def class return import async await yield with as try except finally raise assert lambda for in if "
    "else elif while break continue pass global nonlocal del and or not is None True False self cls args "
    "kwargs config client server request response payload token cache queue worker batch retry timeout "
    "schema table column index cursor commit rollback session user account ledger invoice order item price "
    "total tax currency amount status created updated deleted pending failed success error warning info "
    "debug trace metric counter gauge histogram span context logger handler router view model"
).split()


def uid(rng: random.Random) -> str:
    h = f"{rng.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def filler_pool(rng: random.Random, n: int = 400) -> list[str]:
    """Code-like lines, pre-made once so generation is fast."""
    pool = []
    for _ in range(n):
        k = rng.randint(3, 14)
        indent = " " * (4 * rng.randint(0, 4))
        pool.append(
            indent
            + " ".join(rng.choice(WORDS) for _ in range(k))
            + rng.choice(["", ":", "()", " = {}", " -> str:", "  # note"])
        )
    return pool


def blob(rng: random.Random, pool: list[str], approx: int) -> str:
    out, size, i = [], 0, rng.randint(1, 300)
    while size < approx:
        ln = f"{i:6d}\t{pool[rng.randrange(len(pool))]}"
        out.append(ln)
        size += len(ln) + 1
        i += 1
    return "\n".join(out)


class Session:
    result_max = 24000

    def __init__(self, rng, project, start, pool):
        self.rng, self.project, self.pool = rng, project, pool
        self.sid = uid(rng)
        self.t = start
        self.parent = None
        self.branch = rng.choice(["main", "main", "dev", "feature/x", "fix/bug-12"])
        self.recs: list[str] = []
        self.bytes = 0
        self.first = self.last = ""

    def ts(self, lo=2.0, hi=40.0) -> str:
        self.t += timedelta(seconds=self.rng.uniform(lo, hi))
        s = self.t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.t.microsecond // 1000:03d}Z"
        self.first = self.first or s
        self.last = s
        return s

    def put(self, rec):
        line = json.dumps(rec, ensure_ascii=False)
        self.recs.append(line)
        self.bytes += len(line) + 1

    def base(self, typ, side=False):
        u = uid(self.rng)
        rec = {
            "parentUuid": self.parent,
            "isSidechain": side,
            "userType": "external",
            "cwd": self.project,
            "sessionId": self.sid,
            "version": "2.0.76",
            "gitBranch": self.branch,
            "type": typ,
            "uuid": u,
        }
        self.parent = u
        return rec

    def user(self, content, lo=5.0, hi=90.0, **extra):
        r = self.base("user")
        r.update(extra)
        r["message"] = {"role": "user", "content": content}
        r["timestamp"] = self.ts(lo, hi)
        self.put(r)

    def asst(self, block, stop=None):
        r = self.base("assistant")
        r["message"] = {
            "model": "model-x-4",
            "id": "msg_" + uid(self.rng)[:18],
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.rng.randint(5, 4000),
                "cache_read_input_tokens": self.rng.randint(0, 90000),
                "output_tokens": self.rng.randint(20, 1500),
            },
        }
        r["requestId"] = "req_" + uid(self.rng)[:18]
        r["timestamp"] = self.ts()
        self.put(r)

    def tool(self, name, inp, result_size):
        tid = "toolu_" + uid(self.rng).replace("-", "")[:20]
        self.asst({"type": "tool_use", "id": tid, "name": name, "input": inp})
        text = blob(self.rng, self.pool, result_size)
        r = self.base("user")
        r["message"] = {
            "role": "user",
            "content": [{"tool_use_id": tid, "type": "tool_result", "content": text}],
        }
        r["toolUseResult"] = {
            "type": "text",
            "file": {"filePath": inp.get("file_path", ""), "content": text, "numLines": text.count("\n") + 1},
        }
        r["timestamp"] = self.ts()
        self.put(r)

    def snapshot(self, paths):
        m = uid(self.rng)
        self.put(
            {
                "type": "file-history-snapshot",
                "messageId": m,
                "isSnapshotUpdate": False,
                "snapshot": {
                    "messageId": m,
                    "timestamp": self.ts(),
                    "trackedFileBackups": {
                        p: {"backupFileName": None, "version": 1, "backupTime": self.last} for p in paths
                    },
                },
            }
        )

    def work(self, target, rng):
        """Tool calls and short texts until ``target`` bytes are reached."""
        names = ["Read", "Grep", "Bash", "Edit", "Glob"]
        while self.bytes < target:
            self.asst(
                {
                    "type": "thinking",
                    "thinking": blob(rng, self.pool, rng.randint(150, 900)),
                    "signature": uid(rng),
                }
            )
            if rng.random() < 0.35:
                self.asst({"type": "text", "text": "I will look at the code first."})
            room = max(200, min(int((target - self.bytes) / 2), rng.randint(200, self.result_max)))
            n = rng.choice(names)
            self.tool(
                n,
                {"file_path": f"{self.project}/src/mod_{rng.randint(1, 60)}.py"}
                if n in ("Read", "Edit")
                else {"command": "grep -rn token src | head"},
                room,
            )


def main() -> int:
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", required=True)
    ap.add_argument("--files", type=int, default=500, help="main session files")
    ap.add_argument("--mb", type=float, default=200.0, help="approx total size of main session files")
    ap.add_argument("--days", type=int, default=60)
    ap.add_argument("--end", default="2026-08-22T09:00:00", help="UTC end of the window")
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--headless", type=float, default=0.06, help="share of engine-made one-prompt sessions")
    ap.add_argument("--sidechains", type=int, default=60)
    ap.add_argument(
        "--result-max",
        type=int,
        default=24000,
        help="largest tool result in characters; smaller means more records per MB",
    )
    a = ap.parse_args()

    Session.result_max = a.result_max
    rng = random.Random(a.seed)
    pool = filler_pool(rng)
    end = datetime.fromisoformat(a.end).replace(tzinfo=timezone.utc)
    fams = list(FAMILIES)
    weights = [1 / (i + 1) for i in range(len(fams))]  # Zipf-like recurrence
    sizes = [rng.lognormvariate(0, 1.0) for _ in range(a.files)]
    scale = a.mb * 1e6 / sum(sizes)
    truth, hist = [], []
    total = 0
    for i in range(a.files):
        project = PROJECTS[int(rng.random() ** 1.7 * len(PROJECTS))]
        slug = project.replace("/", "-")
        start = end - timedelta(days=a.days * rng.random(), hours=1)
        target = max(1500, int(sizes[i] * scale))
        s = Session(rng, project, start, pool)
        fam = rng.choices(fams, weights)[0]
        asks, fixes, skill = FAMILIES[fam]
        noun = rng.choice(NOUNS)
        r = rng.random()
        kind, outcome, used = "interactive", "ok", ""
        if r < a.headless:
            kind, outcome = "headless", "n/a"
            s.user(
                "Complete the following task for the user. Follow the skill and memory guidance below.\n\n"
                f"# Skill\n(none)\n\n# Memory\n(none)\n\n# Task\n{rng.choice(asks).format(x=noun)}",
                0.1,
                0.5,
            )
            s.asst({"type": "text", "text": blob(rng, pool, 600)}, "end_turn")
        else:
            if rng.random() < 0.08:
                kind = "resumed"
                s.user(
                    "This session is being continued from a previous conversation that ran out of context. "
                    "Summary: " + blob(rng, pool, 900),
                    isCompactSummary=True,
                )
            if rng.random() < 0.25:
                s.user(rng.choice(META), isMeta=True)
            s.put({"type": "summary", "summary": f"{fam} for {noun}", "leafUuid": uid(rng)})
            ask = rng.choice(asks).format(x=noun)
            if rng.random() < 0.2:
                s.user(
                    [
                        {
                            "type": "text",
                            "text": "<system-reminder>\nThis is a reminder.\n</system-reminder>",
                        },
                        {"type": "text", "text": ask},
                    ]
                )
            else:
                s.user(ask)
            hist.append((int(s.t.timestamp() * 1000), ask, project, s.sid))
            if skill and rng.random() < 0.6:
                used = skill
                s.asst(
                    {
                        "type": "tool_use",
                        "id": "toolu_" + uid(rng)[:12],
                        "name": "Skill",
                        "input": {"skill": skill},
                    }
                )
            s.snapshot([f"{project}/src/mod_{rng.randint(1, 60)}.py" for _ in range(rng.randint(1, 4))])
            s.work(int(target * 0.6), rng)
            s.asst(
                {
                    "type": "text",
                    "text": f"Done: {fam} for {noun}.\n" + blob(rng, pool, rng.randint(200, 1800)),
                },
                "end_turn",
            )
            q = rng.random()
            if q < 0.45:
                outcome = "corrected"
                for fx in rng.sample(fixes, rng.randint(1, 2)):
                    s.user(fx)
                    s.work(int(target * 0.85), rng)
                    s.asst({"type": "text", "text": "Updated as asked.\n" + blob(rng, pool, 300)}, "end_turn")
                if rng.random() < 0.6:
                    s.user(rng.choice(OK_REPLIES))
                    s.asst({"type": "text", "text": "You're welcome."}, "end_turn")
            elif q < 0.6:
                outcome = "abandoned"
                s.user([{"type": "text", "text": "[Request interrupted by user]"}])
            elif q < 0.85:
                s.user(rng.choice(OK_REPLIES))
                s.asst({"type": "text", "text": "Glad it helped."}, "end_turn")
            else:
                kind = "oneshot" if kind == "interactive" else kind
            s.work(target, rng)
        d = os.path.join(a.out, "projects", slug)
        os.makedirs(d, exist_ok=True)
        p = os.path.join(d, s.sid + ".jsonl")
        with open(p, "w", encoding="utf-8") as f:
            f.write("\n".join(s.recs) + "\n")
        os.utime(p, (s.t.timestamp(), s.t.timestamp()))
        total += s.bytes
        truth.append(
            {
                "file": os.path.relpath(p, a.out),
                "kind": kind,
                "project": project,
                "family": fam,
                "noun": noun,
                "outcome": outcome,
                "skill": used,
                "first": s.first,
                "last": s.last,
                "bytes": s.bytes,
                "records": len(s.recs),
            }
        )
    # sidechains: must never be harvested as user work
    mains = [t for t in truth if t["kind"] != "headless"]
    n_side = 0
    for k in range(a.sidechains):
        t = rng.choice(mains)
        s = Session(rng, t["project"], end - timedelta(days=a.days * rng.random()), pool)
        r = s.base("user", side=True)
        r["message"] = {
            "role": "user",
            "content": "Search the repository for usages of token and report back.",
        }
        r["timestamp"] = s.ts()
        s.put(r)
        s.work(rng.randint(4000, 60000), rng)
        base = os.path.join(a.out, t["file"])
        d = os.path.join(base[:-6], "subagents") if k % 2 else os.path.dirname(base)
        os.makedirs(d, exist_ok=True)
        p = os.path.join(d, f"agent-{hashlib.sha256(str(k).encode()).hexdigest()[:8]}.jsonl")
        with open(p, "w", encoding="utf-8") as f:
            f.write("\n".join(s.recs) + "\n")
        os.utime(p, (s.t.timestamp(), s.t.timestamp()))
        total += s.bytes
        n_side += 1
    hist.sort()
    with open(os.path.join(a.out, "history.jsonl"), "w", encoding="utf-8") as f:
        for ms, text, proj, sid in hist:
            f.write(
                json.dumps(
                    {
                        "display": text,
                        "pastedContents": {},
                        "timestamp": ms,
                        "project": proj,
                        "sessionId": sid,
                    }
                )
                + "\n"
            )
    with open(os.path.join(a.out, "truth.json"), "w", encoding="utf-8") as f:
        json.dump({"args": vars(a), "bytes": total, "sessions": truth, "sidechains": n_side}, f, indent=1)
    print(f"{a.files} sessions + {n_side} sidechains, {total / 1e6:.1f} MB -> {a.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
