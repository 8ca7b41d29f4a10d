"""The story the demo's transcripts tell: two weeks of evenings of one person, turn by turn.

The wrong answers are what Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, temperature 0) says to the same prompts when
it has no skill; so what the night replays fails in the way it failed in the story.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SHOP = {
    ".gitignore": "__pycache__/\n",
    "pyproject.toml": (
        '[project]\nname = "shop"\nversion = "0.4.0"\nrequires-python = ">=3.11"\n'
        'dependencies = ["flask>=3"]\n'
    ),
    "uv.lock": 'version = 1\nrequires-python = ">=3.11"\n',
    "cart.py": ('def total(cart):\n    return sum(item["price"] * item["count"] for item in cart)\n'),
    "test_cart.py": (
        "import unittest\n\nfrom cart import total\n\n\n"
        "class CartTest(unittest.TestCase):\n"
        "    def test_one_of_a_kind_needs_no_count(self):\n"
        '        self.assertEqual(total([{"price": 3}]), 3)\n'
    ),
    ".claude/commands/standup.md": "Sum up the last commits in two lines for the standup.\n",
}


@dataclass(frozen=True)
class Say:
    """One prompt of the person, and what the model does with it, step by step.

    `hears` is what the prompt reaches the model as, where that differs (a slash command).
    """

    prompt: str
    steps: tuple[dict[str, Any], ...]
    hears: str = ""


@dataclass(frozen=True)
class Sitting:
    """One session: when it began (UTC) and what was said; `commits` is what the person commits after it."""

    start: str
    turns: tuple[Say, ...]
    commits: str = ""
    headless: bool = False
    about: str = field(default="", compare=False)


def ask(prompt: str, answer: str, hears: str = "") -> Say:
    return Say(prompt, ({"do": [{"say": answer}]},), hears)


def dependency(start: str, *turns: Say) -> Sitting:
    return Sitting(f"2026-11-{start}", turns, about="dependency")


def clock(start: str, *turns: Say) -> Sitting:
    return Sitting(f"2026-11-{start}", turns, about="clock")


STORY = (
    dependency(
        "16T18:12:07",
        ask("Which command adds httpx as a dependency of this project?", "pip install httpx"),
        ask(
            "No, use `uv add`, not `pip install`. Otherwise it is missing in pyproject.toml.",
            "Right, this project is managed by uv:\n\n```bash\nuv add httpx\n```",
        ),
    ),
    Sitting(
        "2026-11-16T20:40:31",
        (
            Say(
                "Why does test_cart.py fail with a KeyError? Fix it.",
                (
                    {"do": [{"shell": "python3 -m unittest -q"}]},
                    {"do": [{"say": "An item may come without a count."}, {"read": {"path": "cart.py"}}]},
                    {
                        "do": [
                            {
                                "edit": {
                                    "path": "cart.py",
                                    "old": 'item["count"]',
                                    "new": 'item.get("count", 1)',
                                }
                            }
                        ]
                    },
                    {"do": [{"shell": "python3 -m unittest -q"}]},
                    {"do": [{"say": "Fixed: an item without a count now counts once. The test passes."}]},
                ),
            ),
        ),
        commits="Count an item once when it has no count",
        about="one-off",
    ),
    dependency(
        "17T18:05:44",
        ask("what's the command to add the dependency pydantic to the project?", "pip install pydantic"),
    ),
    dependency(
        "17T19:31:12",
        ask("add rich as a dependency to this project, which command do I run?", "`npm install rich`"),
    ),
    clock(
        "17T20:15:50",
        ask(
            "Write the Python line that sets created_at to the current UTC time",
            "`created_at = datetime.utcnow()`",
        ),
        ask(
            "No, use `datetime.now(timezone.utc)`, not `utcnow()`. It is deprecated.",
            "`created_at = datetime.now(timezone.utc)`",
        ),
    ),
    dependency(
        "18T18:20:19",
        ask(
            "Give me the command that adds pytest as a dev dependency of the project",
            "`pip install pytest --dev`",
        ),
        ask("no, use `uv add`, not `pip install`, please", "`uv add --dev pytest`"),
        ask("I need the command for adding sqlalchemy as a project dependency", "`uv add sqlalchemy`"),
    ),
    Sitting(
        "2026-11-18T19:52:03",
        (
            ask(
                "/standup",
                "Yesterday: an item without a count is counted once.\nToday: nothing open.",
                hears="Sum up the last commits",
            ),
        ),
        about="slash command",
    ),
    dependency(
        "19T18:30:26",
        ask(
            "Add polars as a new dependency of the project, just the command please",
            "```bash\npip install polars\n```",
        ),
    ),
    Sitting(
        "2026-11-19T19:10:38",
        (
            Say(
                "Rename the function total to cart_total everywhere",
                (
                    {"do": [{"shell": "sed -i 's/\\btotal\\b/cart_total/g' cart.py test_cart.py"}]},
                    {"do": [{"shell": "python3 -m unittest -q"}]},
                    {"do": [{"say": "Renamed in cart.py and test_cart.py; the test passes."}]},
                ),
            ),
        ),
        commits="Rename total to cart_total",
        about="one-off",
    ),
    clock(
        "19T20:02:15",
        ask(
            "write the Python line that sets last_seen to the current UTC time of now",
            "`last_seen = datetime.utcnow()`",
        ),
    ),
    Sitting(
        "2026-11-20T02:00:04",
        (
            ask(
                "Write one line for the changelog about the last commit.",
                "- `total` is now called `cart_total`.",
            ),
        ),
        headless=True,
        about="headless",
    ),
    dependency(
        "20T18:02:51",
        ask(
            "command to add typer as a dependency here in the project?",
            "`npm install --save-dev @types/node`",
        ),
        ask(
            "give me the command that adds ruff as a development dependency of this project",
            "`npm install ruff --save-dev`",
        ),
    ),
    dependency(
        "20T19:41:33",
        ask(
            "numpy should become a dependency of the project, with which command do I add it?",
            "`pip install numpy`",
        ),
        ask("No! Use `uv add`, not `pip install`, we have a uv.lock here", "`uv add numpy`"),
    ),
    dependency(
        "22T20:15:08",
        ask("What command adds the dependency msgspec to our project?", "`pip install msgspec`"),
    ),
    dependency(
        "23T18:10:47",
        ask("which command do I need to add boto3 as a project dependency", "pip install boto3"),
    ),
    clock(
        "23T19:03:22",
        ask(
            "Python line please: set expires_at to the current UTC time plus one hour",
            "```python\nfrom datetime import datetime, timedelta\n\n"
            "expires_at = datetime.utcnow() + timedelta(hours=1)\n```",
        ),
    ),
    dependency(
        "23T20:30:56",
        ask("the project gets a new dependency, jinja2. Which command adds it?", "`pip install jinja2`"),
        ask("No, again: use `uv add`, not `pip install`.", "Sorry. `uv add jinja2`"),
        ask("command please: add mypy as a dev dependency to the project", "`uv add --dev mypy`"),
    ),
    dependency(
        "24T18:25:14",
        ask(
            "How do I add redis as a dependency of this project? Only the command",
            "```bash\npip install redis\n```",
        ),
    ),
    Sitting(
        "2026-11-24T19:46:40",
        (
            Say(
                "Write a README of one paragraph for this repository",
                (
                    {
                        "do": [
                            {
                                "write": {
                                    "path": "README.md",
                                    "content": "# shop\n\nA small web shop. `cart.py` holds the cart.\n",
                                }
                            }
                        ]
                    },
                    {"do": [{"say": "README.md says in one paragraph what the shop is."}]},
                ),
            ),
        ),
        commits="Add a README",
        about="one-off",
    ),
    dependency(
        "24T20:21:29",
        ask("Which command do we use to add fastapi as a dependency to the project?", "pip install fastapi"),
    ),
    dependency(
        "25T18:15:35",
        ask(
            "I want to add the dependency pillow to the project, what is the command?",
            "`pip install pillow`",
        ),
        ask("That's wrong, use `uv add`, not `pip install`", "`uv add pillow`"),
    ),
    clock(
        "25T19:32:58",
        ask(
            "write a Python line that sets updated_at to the UTC time right now",
            "```python\nimport datetime\n\nupdated_at = datetime.datetime.utcnow()\n```",
        ),
    ),
    dependency(
        "25T20:11:11",
        ask(
            "what is the command for adding requests as a dependency to this project",
            "`npm install request`",
        ),
    ),
    dependency(
        "26T18:40:02",
        ask(
            "add the dependency orjson to the project - the command, please",
            "```bash\npip install orjson\n```",
        ),
        ask("With what command do I add tqdm as a project dependency?", "pip install tqdm"),
    ),
    dependency(
        "26T20:03:49",
        ask(
            "give me the command for adding hypothesis as a dev dependency of the project",
            "`npm install hypothesis --save-dev`",
        ),
    ),
    dependency(
        "27T18:05:20",
        ask("Which command adds structlog to the project as a dependency?", "`pip install structlog`"),
    ),
    dependency(
        "27T19:22:17",
        ask("another dependency for the project: uvicorn. The command to add it?", "`pip install uvicorn`"),
    ),
)
