"""Eight small task families with exact checks, made from a seed, and a hand-written skill for each.

`make_tasks(family, counts, seed)` returns tasks without a repeated prompt, cut into train, val and test.
Most are checked by the checks of a Task; a query is run on a small database, by `check_query`.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import cache

from skillopt_replay.rollouts import CheckResult
from skillopt_replay.tasks import Check, Exact, JsonSchema, Matches, Task
from skillopt_sleep.training import make_task

NAMES = (
    "Ana Bo Carl Dina Emil Fay Gus Hana Ivan Jude Kira Liam Mona Nils Olga Paul Rosa Sven Tara Uma".split()
)
CITIES = "Berlin Madrid Lisbon Oslo Vienna Prague Dublin Athens Warsaw Zurich Geneva Milan".split()
ITEMS = "notebook lamp chair mug cable pencil jacket bottle poster ticket".split()
TREES = "oak pine birch maple elm cedar".split()

Made = tuple[str, tuple[Check, ...]]


def ask_span(r: random.Random) -> Made:
    name, (city, former), year = r.choice(NAMES), r.sample(CITIES, 2), r.randint(1951, 2019)
    tree, windows, villa = r.choice(TREES), r.randint(11, 98), f"Villa {former[:3]}ora"
    passage = (
        f"{name} moved to {city} in {year} after ten years in {former}. The new house has {windows} windows"
        f" and a large garden. A {tree} tree stands next to the gate, and the neighbours call the place"
        f" {villa}."
    )
    question, gold = r.choice(
        [
            (f"In which city does {name} live now?", city),
            (f"In which year did {name} move?", str(year)),
            ("How many windows does the house have?", str(windows)),
            ("What kind of tree stands next to the gate?", tree),
            ("What do the neighbours call the place?", villa),
            (f"Where did {name} live before the move?", former),
        ]
    )
    return f"Passage: {passage}\n\nQuestion: {question}", (Exact(text=gold, ignore_case=True),)


def ask_order(r: random.Random) -> Made:
    name, item, count = r.choice(NAMES), r.choice(ITEMS), r.randint(2, 19)
    price = r.randint(2, 40) + r.choice([0, 0.5, 0.25, 0.75])
    said = r.choice(
        [
            f"{name} bought {count} {item}s at ${price:.2f} each.",
            f"Please charge {name} for {count} {item}s, ${price:.2f} apiece.",
            f"Order from {name}: {item} x {count}, unit price ${price:.2f}.",
        ]
    )
    gold = {"item": item, "qty": count, "unit_price": price}
    schema = {
        "type": "object",
        "properties": {key: {"const": value} for key, value in gold.items()},
        "required": list(gold),
        "additionalProperties": False,
    }
    bare = Matches(pattern=r"(?s)\A\s*\{.*\}\s*\Z")
    return f"Record this order: {said}", (bare, JsonSchema(schema=json.dumps(schema)))


QUERIES = (
    ("How many orders did {name} place?", "select count(*) from orders where customer='{name}'"),
    ("What is the total amount of orders from {city}?", "select sum(amount) from orders where city='{city}'"),
    ("How many orders have an amount above {most}?", "select count(*) from orders where amount>{most}"),
    (
        "What is the largest amount ordered by {name}?",
        "select max(amount) from orders where customer='{name}'",
    ),
    (
        "How many orders in {city} have an amount below {most}?",
        "select count(*) from orders where city='{city}' and amount<{most}",
    ),
)
_KEPT = " and is_deleted=0"
_TABLE = "Table: orders(id, customer, city, amount, is_deleted)\nWrite a SQLite query: "


@cache
def _open_shop() -> sqlite3.Connection:
    r, shop = random.Random(7), sqlite3.connect(":memory:")
    shop.execute(
        "create table orders(id integer, customer text, city text, amount integer, is_deleted integer)"
    )
    rows = [
        (n, r.choice(NAMES[:6]), r.choice(CITIES[:4]), r.randint(5, 200), int(n % 3 == 0)) for n in range(60)
    ]
    shop.executemany("insert into orders values(?,?,?,?,?)", rows)
    shop.execute("pragma query_only = on")
    return shop


def _query(sql: str) -> list[tuple[object, ...]]:
    return _open_shop().execute(sql).fetchall()


def ask_query(r: random.Random) -> Made:
    while True:
        words = {"name": r.choice(NAMES[:6]), "city": r.choice(CITIES[:4]), "most": r.randint(40, 150)}
        question, sql = (text.format(**words) for text in r.choice(QUERIES))
        gold = _query(sql + _KEPT)
        if gold != _query(sql) and gold[0][0] is not None:
            return _TABLE + question, ()


def check_query(task: Task, answer: str) -> list[CheckResult]:
    """Return whether the query in the answer runs, and whether it finds what it should."""
    asked = task.prompt.removeprefix(_TABLE)
    for question, sql in QUERIES:
        pattern = re.escape(question)
        for name in ("name", "city", "most"):
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>\\w+)")
        found = re.fullmatch(pattern, asked)
        if found:
            wanted = sql.format(**found.groupdict())
            break
    else:
        raise ValueError(f"not a question about orders: {asked}")
    fenced = re.search(r"```[a-zA-Z]*\n?(.*?)```", answer, re.DOTALL)
    try:
        rows = _query((fenced.group(1) if fenced else answer).strip().split(";")[0])
    except sqlite3.Error as error:
        return [CheckResult(passed=False, detail=f"the query does not run: {error}")] * 2
    runs = CheckResult(passed=True, detail="the query runs")
    if rows == _query(wanted + _KEPT):
        return [runs, CheckResult(passed=True, detail="the result is right")]
    why = "it includes deleted orders" if rows == _query(wanted) else "other rows were expected"
    return [runs, CheckResult(passed=False, detail=f"the result is wrong: {why}")]


def ask_ticket(r: random.Random) -> Made:
    city, number = r.choice(CITIES), r.randint(1, 9999)
    said = r.choice(
        [
            f"ticket {number} from the {city} office",
            f"{city} office, case number {number}",
            f"no. {number} ({city})",
        ]
    )
    return f"Give the canonical ticket id for: {said}", (Exact(text=f"{city[:3].upper()}-{number:05d}"),)


TRIAGE = {
    "REFUND": (
        "I want my money back for order {n}.",
        "You charged me twice, please return {n} dollars.",
        "Please reverse the payment of {n} dollars, the item never came.",
    ),
    "BUG": (
        "The app crashes when I open page {n}.",
        "Export fails with error {n} every time.",
        "The search box returns a blank screen since version {n}.",
    ),
    "HOWTO": (
        "How can I export {n} rows to a file?",
        "Where do I find the setting for {n} decimals?",
        "Is there a way to sort by column {n}?",
    ),
    "ACCOUNT": (
        "I forgot my password, my user number is {n}.",
        "Please change the email address of account {n}.",
        "I cannot log in to account {n}.",
    ),
}


def ask_triage(r: random.Random) -> Made:
    label = r.choice(list(TRIAGE))
    message = r.choice(TRIAGE[label]).format(n=r.randint(3, 900))
    return f"Customer message: {message}\nRoute this message.", (Exact(text=label),)


def ask_shout(r: random.Random) -> Made:
    size = r.choice(["red", "blue", "green", "small", "large", "cheap"])
    prompt = f"Write one sentence that advertises a {size} {r.choice(ITEMS)} from {r.choice(CITIES)}."
    loud, done = r"\A[^a-z]*\Z", r"\bDONE[.!]*\s*\Z"
    return prompt, (Matches(pattern=loud), Matches(pattern=done), Matches(pattern=r"(\S+\s+){4}\S"))


def ask_formula(r: random.Random) -> Made:
    column, first, last = r.choice("BCDEFG"), r.randint(2, 5), r.randint(20, 300)
    function, words = r.choice(
        [
            ("SUM", "the sum of"),
            ("AVERAGE", "the average of"),
            ("MAX", "the largest value in"),
            ("MIN", "the smallest value in"),
            ("COUNT", "how many numbers there are in"),
        ]
    )
    gold = f"={function}({column}{first}:{column}{last})"
    return f"Excel: compute {words} cells {column}{first} to {column}{last}.", (Exact(text=gold),)


def ask_sum(r: random.Random) -> Made:
    name, item = r.choice(NAMES), r.choice(ITEMS)
    a, b, c = r.randint(3, 20), r.randint(2, 9), r.randint(2, 15)
    question, gold = r.choice(
        [
            (
                f"{name} buys {a} {item}s for {b} dollars each and pays a delivery fee of {c} dollars."
                f" How many dollars does {name} pay in total?",
                a * b + c,
            ),
            (
                f"{name} has {a + c} {item}s, gives {c} away and then buys {b} more."
                f" How many {item}s does {name} have?",
                a + b,
            ),
            (
                f"A box holds {b} {item}s. {name} has {a} full boxes and {c} loose {item}s."
                f" How many {item}s are there?",
                a * b + c,
            ),
            (
                f"{name} earns {a * 4} dollars a day for {b} days and spends {c} dollars."
                " How many dollars are left?",
                a * 4 * b - c,
            ),
        ]
    )
    return question, (Matches(pattern=rf"(?:\A|\n)#### {gold}\s*\Z"),)


FAMILIES: Mapping[str, Callable[[random.Random], Made]] = {
    "span_qa": ask_span,
    "order_json": ask_order,
    "sql_soft": ask_query,
    "shout": ask_shout,
    "formula": ask_formula,
    "triage": ask_triage,
    "gsm": ask_sum,
    "ticket_id": ask_ticket,
}
LONGEST = {  # tokens of an answer
    "span_qa": 48,
    "order_json": 72,
    "sql_soft": 80,
    "shout": 60,
    "formula": 72,
    "triage": 48,
    "gsm": 170,
    "ticket_id": 40,
}
BY_HAND = {
    "span_qa": """\
Reply with only the value copied from the passage: the bare word, name or number. No sentence, no \
punctuation, no explanation.
Example: Question: In which year did Tom leave? -> 1987""",
    "order_json": """\
Reply with one line of raw JSON and nothing else. No code fence, no explanation.
Keys, in this order: "item" (singular noun, lower case), "qty" (integer), "unit_price" (number).
Example: {"item": "brush", "qty": 4, "unit_price": 3.5}""",
    "sql_soft": """\
Rows with is_deleted = 1 are soft-deleted and never count.
Every query must contain the condition is_deleted = 0 in its WHERE clause.
Reply with the SQL only.
Example: SELECT COUNT(*) FROM orders WHERE city = 'Rome' AND is_deleted = 0;""",
    "shout": """\
Write the whole reply in UPPER CASE letters and end it with the word DONE.
Example: BUY THE BEST YELLOW KITE FROM ROME TODAY! DONE""",
    "formula": """\
Reply with the formula only, starting with "=". No explanation, no code fence, no quotes.
Example: Excel: compute the sum of cells A1 to A9. -> =SUM(A1:A9)""",
    "triage": """\
Reply with exactly one of these labels and nothing else:
REFUND - money back, wrong or double charge
BUG - crash, error, blank screen
HOWTO - question how to do something
ACCOUNT - password, login, email address change""",
    "gsm": """\
Work out the result in one or two short steps. Then write the final answer on the last line as four hash \
signs, a space and the plain number, with no unit.
Example last line: #### 42""",
    "ticket_id": """\
A canonical ticket id is the first three letters of the city in upper case, a hyphen, and the number padded \
with leading zeros to five digits. Reply with the id only.
Examples: ticket 7 from the Rome office -> ROM-00007; Paris office, case number 1234 -> PAR-01234; \
no. 58 (London) -> LON-00058""",
}


def make_tasks(family: str, counts: Mapping[str, int], seed: int) -> dict[str, list[Task]]:
    """Return so many tasks of each split; no prompt comes twice, in one split or over them."""
    r = random.Random(f"{family}/{seed}")
    made: dict[str, tuple[Check, ...]] = {}
    while len(made) < sum(counts.values()):
        prompt, checks = FAMILIES[family](r)
        made.setdefault(prompt, checks)
    left = iter(made.items())
    return {
        split: [_make(f"{split}-{number}", next(left), family) for number in range(count)]
        for split, count in counts.items()
    }


def _make(name: str, made: tuple[str, tuple[Check, ...]], family: str) -> Task:
    return make_task(name, made[0], *made[1], family=family, skill=family.replace("_", "-"))
