"""A world to develop against: near misses, several languages, long templates, habits and generic words."""

from __future__ import annotations

from tests.harvesters.planted.make import Family, World

SPECIFY = """## User Input

```text
{x}
```

You must take the user input into account before you go on, unless it is empty.

## Outline

Given the description of a feature, do this:
1. Choose a short name for the branch, two to four words that say what the feature is about.
2. Look for branches of that name, on the server and here, and take the next number that is free.
3. Run the script that makes the branch and the folder, and read the paths it prints.
4. Load the template of the specification and fill in every section that applies.
5. Mark what is not clear with a question, three at most, and choose a sensible default elsewhere.
6. Check the specification against the list of requirements and write the result beside it.
"""
PLAN = """## User Input

```text
{x}
```

You must take the user input into account before you go on, unless it is empty.

## Outline

1. Run the setup script from the root of the repository and parse the JSON that it prints.
2. Read the specification of the feature and the constitution of the project.
3. Fill in the technical context: language, dependencies, storage, testing, target platform, limits.
4. Evaluate the gates. Stop with an error when a violation has no justification.
5. Phase zero: resolve all unknowns in a research document.
6. Phase one: write the data model, the contracts and a quick start; update the context of the agent.
7. Report the branch, the path of the plan and the artifacts that were generated.
"""
TASKS = """## User Input

```text
{x}
```

You must take the user input into account before you go on, unless it is empty.

## Outline

1. Load the design documents: the plan and the specification are required, the others optional.
2. List the stories with their priorities and map entities and endpoints to them.
3. Produce numbered tasks in the strict checklist format, ordered by dependency, marked when parallel.
4. Validate that every story has all it needs and can be tested on its own.
5. Write the file of tasks with phases for setup, foundations, each story and polish.
"""
_LONG = """I want you to act as a careful release manager for {x}. Go through every commit since the last tag,
sort what changed into features, fixes and chores, and leave out anything a user cannot notice. For each entry
say in one sentence what is different now and why somebody would care. Then compare the list with the open
milestone, tell me which issues are not covered yet, and propose whether we should wait for them or move them
to the next milestone. Finish with the version number you would choose and the reason for it."""

WORKSHOP = World(
    families=(
        Family(
            "write-test",
            ("Write a test for {x}", "Add unit tests covering {x}", "{x} has no tests yet, write some"),
            ("No, use parametrize instead of copying the cases", "don't mock the clock, freeze it"),
            share=3,
        ),
        Family(
            "run-tests",
            ("Run the tests for {x}", "Run the {x} test suite and tell me what fails"),
            ("no, only list the red ones with their seed",),
            share=2,
        ),
        Family(
            "fix-test",
            ("Fix the test for {x}", "Repair the broken {x} test"),
            ("no, you changed the snapshot; the parser must change",),
            share=2,
        ),
        Family(
            "explain",
            ("Explain how {x} works", "Explain {x} to me step by step"),
            ("Too abstract, draw a diagram of the calls first", "don't paste whole functions into the text"),
            share=2,
        ),
        Family(
            "zh-test",
            ("为{x}编写单元测试", "请帮我给{x}写几个单元测试"),
            ("不对,要用参数化,不要用循环",),
            nouns=(
                "登录表单",
                "发票导出",
                "重试队列",
                "搜索索引",
                "价格缓存",
                "审计日志",
                "邮件摘要",
                "任务调度",
            ),
        ),
        Family(
            "zh-comment",
            ("给{x}补充中文注释", "为{x}加上中文注释"),
            nouns=(
                "登录表单",
                "发票导出",
                "重试队列",
                "搜索索引",
                "价格缓存",
                "审计日志",
                "邮件摘要",
                "任务调度",
            ),
        ),
        Family(
            "zh-fix",
            ("修复{x}的报错", "{x}报错了,修复一下"),
            nouns=(
                "登录表单",
                "发票导出",
                "重试队列",
                "搜索索引",
                "价格缓存",
                "审计日志",
                "邮件摘要",
                "任务调度",
            ),
        ),
        Family(
            "de-summary",
            ("Fasse {x} für das Team zusammen", "Schreib dem Team eine Zusammenfassung von {x}"),
            skill="zusammenfassung",
        ),
        Family("es-translate", ("Traduce {x} al inglés", "Pasa {x} al inglés"), skill="traducir"),
        Family(
            "release",
            ("Cut a release of {x}", "Tag {x} and publish it to the registry"),
            ("No, sign the tag with the maintainers key",),
            skill="release",
            share=2,
        ),
        Family(
            "rename",
            ("Rename `{x}` to `{y}` everywhere", "rename `{x}` into `{y}` in all files"),
            ("no, keep the old name as a deprecated alias",),
        ),
        Family(
            "profile",
            ("Profile {x} and find the hot spot", "Why is {x} so slow? Profile it"),
            skill="profiling",
        ),
        Family(
            "upgrade",
            ("Upgrade {x} to the latest version", "bump {x} to the latest version"),
            nouns=("django", "httpx", "numpy", "react", "vite", "celery", "pydantic", "requests", "boto3"),
        ),
        Family("specify", (SPECIFY,)),
        Family("plan", (PLAN,)),
        Family("tasks", (TASKS,)),
        Family("manage-release", (_LONG,)),
        Family("standup", ("{x}", "yesterday: {x}, today: {y}"), command="/standup"),
    ),
    nouns=(
        "the cart total",
        "checkout",
        "the coupon parser",
        "the stock counter",
        "src/mail/queue.py",
        "the address book",
        "password reset",
        "the image resizer",
        "parse_order",
        "the loyalty points",
        "session handling",
        "the wish list",
        "the export job",
        "gift cards",
        "the map view",
        "PriceRule",
    ),
    alone=(
        "What does the flag --no-verify do in git?",
        "Why does the address book open twice when I press enter?",
        "Move the coupon parser into its own package",
        "Sketch an architecture for a plugin system",
        "Is it safe to delete the old export job tables?",
        "Make the map view load its tiles lazily",
        "Convert the config from json to toml",
        "Find out who calls parse_order with a negative amount",
        "The build is broken since this morning, have a look at the lock file",
        "Set up a devcontainer for this repository",
        "Give me three names for the new loyalty programme",
        "Print the ten largest files of the repository",
        "Which licence do our dependencies have?",
        "Draw the state machine of checkout as mermaid",
        "Delete all feature branches that were merged",
        "Why is the stock counter off by one on Sundays?",
        "Port the image resizer from Pillow to libvips",
        "Switch the wish list from REST to GraphQL",
        "Add dark mode to the settings page",
        "Show me how the gift cards are encrypted at rest",
        "把日志级别改成警告",
        "这个仓库的入口在哪里?",
        "Was macht die Funktion am Ende der Datei?",
        "Store the password reset tokens hashed",
        "Teach the linter our naming scheme",
        "Benchmark the coupon parser against the old one",
        "Draft an answer to the customer who lost points",
        "Compare httpx and requests for our use",
        "Remove the unused translations",
        "Replace the cron entry by a systemd timer",
        "Look into the memory leak of the export job",
        "Make checkout work without javascript",
        "Guard the address book against duplicate names",
        "How many lines of python are there?",
        "Generate a favicon from the logo",
        "Undo my last three commits but keep the changes",
        "Split the migrations folder by year",
        "Write a bash script that rotates the backups",
        "Turn session handling into a middleware",
        "What is the difference between the two price rules?",
    ),
)
