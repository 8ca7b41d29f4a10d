"""A task belongs to the skill that was loaded, else to one that surely fits, else to a new one."""

from __future__ import annotations

import pytest

from skillopt_harvesters import Kind, Mining, Session, SkillRecord, Turn, mine

THINGS = ("the parser", "tax rules", "`cart.py`", "the audit log")
SKILLS = {
    "release-notes": "Use when writing release notes or a changelog entry for customers",
    "db-migrations": "Alembic database migrations: how we add, change and roll back columns",
    "code-review": "Use to review a diff or a pull request: severity first, cite file and line",
    "python-style": "Conventions for Python code in this repository: typing, naming, imports, tests",
    "write-tests": "Use when writing unit tests: parametrize, no mocks of our own code",
    "deploy": "Deploy the service to staging or production with the release script",
    "incident-report": "Write an incident report with a timeline after an outage",
    "sql-queries": "Write SQL queries against the warehouse: UTC dates, refunds counted once",
    "dockerfiles": "Slim, pinned, non-root Dockerfiles",
    "terraform-modules": "Write and test terraform modules",
    "pdf": "Read and fill PDF forms",
    "api-design": "REST endpoints: validation, pagination, problem details",
    "frontend-components": "React components with stories and accessible names",
    "git-commits": "Commit messages in the imperative mood, 50 characters",
    "单元测试": "为模块编写单元测试的约定",
}
FITS = [
    ("Draft the release notes covering {}", "release-notes"),
    ("Add an alembic database migration for {}", "db-migrations"),
    ("Do a code review of the diff of {}", "code-review"),
    ("Write unit tests for {}", "write-tests"),
    ("Write a SQL query for the warehouse that counts {}", "sql-queries"),
    ("Write an incident report about {}", "incident-report"),
    ("Write a terraform module for {}", "terraform-modules"),
    ("Write a commit message for {}", "git-commits"),
]
FITS_NOT = [
    "Explain how {} works",
    "Profile {} and find the hot spot",
    "Run the tests for {}",
    "Rename `{}` to `x` everywhere",
    "Translate the texts of {} into German",
    "Roll back {} to the previous version",
    "Add type hints to {}",
    "Fix the failing build of {}",
    "Draw a diagram of {}",
    "Report the status of {} to the customers",
    "Write the release script for {}",
    "Write a python script that exports {}",
    "Review the wording of the mails about {}",
    "Set up the database for {}",
    "Add a column to the report of {}",
    "Name the components of {}",
]


def record(name: str, description: str = "", project: str | None = None, clients=("claude",)) -> SkillRecord:
    return SkillRecord(
        name=name, description=description, path=f"/{project or '~'}/{name}", clients=clients, project=project
    )


CATALOGUE = [record(name, description) for name, description in SKILLS.items()]


def hold(template: str, *, skills=(), project="/p", first=0, client="claude", said=()) -> list[Session]:
    made = []
    for number, thing in enumerate(THINGS, first):
        started = f"2026-01-{number + 1:02}T10:00:00.000Z"
        turns = [Turn(prompt=template.format(thing), answer="Done.", skills=tuple(skills), started=started)]
        turns += [Turn(prompt=text, answer="Done.", started=started) for text in said]
        made.append(
            Session(
                id=f"{project}{first}-{number}",
                client=client,
                client_version="2",
                kind=Kind.HUMAN,
                path=f"/{number}",
                project=project,
                started=started,
                turns=tuple(turns),
            )
        )
    return made


def attribute(sessions, **how) -> set[tuple[str, str]]:
    found = {(task.skill, task.skill_origin) for task in mine(sessions, Mining(**how))}
    assert found
    return found


@pytest.mark.parametrize(("template", "skill"), FITS)
def test_an_existing_skill_about_the_same_thing_fits(template, skill):
    assert attribute(hold(template), skills=CATALOGUE) == {(skill, "fits")}


@pytest.mark.parametrize("template", FITS_NOT)
def test_no_skill_is_better_than_a_wrong_one(template):
    ((skill, origin),) = attribute(hold(template), skills=CATALOGUE)
    assert origin == "new"
    assert skill not in SKILLS


def test_without_skills_a_new_one_is_named():
    ((skill, origin),) = attribute(hold(FITS[0][0]), skills=[])
    assert (skill, origin) == ("draft-release-notes", "new")


def test_a_skill_that_was_loaded_comes_before_one_that_fits():
    sessions = hold("Draft the release notes covering {}", skills=["house-notes"])
    assert attribute(sessions, skills=[*CATALOGUE, record("house-notes")]) == {("house-notes", "loaded")}


@pytest.mark.parametrize("skill", ["superpowers:house-notes", "house-notes"])
def test_a_skill_of_a_plugin_or_of_nobody_is_not_the_users_to_teach(skill):
    ((_, origin),) = attribute(hold("Profile {} and find the hot spot", skills=[skill]), skills=CATALOGUE)
    assert origin == "new"


def test_when_it_is_not_known_which_skills_there_are_only_those_of_plugins_are_left_out():
    template = "Profile {} and find the hot spot"
    assert attribute(hold(template, skills=["profiling"])) == {("profiling", "loaded")}
    ((_, origin),) = attribute(hold(template, skills=["tools:profiling"]))
    assert origin == "new"


def test_a_skill_that_is_loaded_whatever_is_asked_is_not_what_the_ask_is_about():
    sessions = [
        one
        for number, template in enumerate(("Profile {} and find the hot spot", "Translate the texts of {}"))
        for one in hold(template, skills=["house-rules"], first=10 * number)
    ]
    assert {origin for _, origin in attribute(sessions, skills=[record("house-rules")])} == {"new"}


def test_a_skill_of_another_project_or_client_is_out_of_reach():
    sessions = hold("Draft the release notes covering {}", skills=["release-notes"])
    for other in (record("release-notes", project="/q"), record("release-notes", clients=("codex",))):
        ((_, origin),) = attribute(sessions, skills=[other])
        assert origin == "new"
    assert attribute(sessions, skills=[record("release-notes", project="/p")]) == {
        ("release-notes", "loaded")
    }


def test_of_two_skills_that_fit_alike_neither_is_taken():
    twins = [record("release-notes-a", "release notes"), record("release-notes-b", "release notes")]
    ((_, origin),) = attribute(hold("Draft the release notes covering {}"), skills=twins)
    assert origin == "new"


def test_a_skill_that_has_the_name_a_new_one_would_have_is_the_one():
    sessions = hold("Profile {} and find the hot spot")
    assert attribute(sessions, skills=[record("profile-hot-spot")]) == {("profile-hot-spot", "fits")}


def test_a_new_skill_that_is_loaded_later_is_the_loaded_one():
    before = hold("Profile {} and find the hot spot")
    later = hold("Profile {} and find the hot spot", skills=["profile-hot-spot"], first=10)
    told = attribute([*before, *later], skills=[record("profile-hot-spot")])
    assert told == {("profile-hot-spot", "loaded")}
