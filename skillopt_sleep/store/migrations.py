"""The schema, as numbered steps. A step that has been released is never changed."""

from __future__ import annotations

_FIRST = (
    "create table migrations (number integer primary key, at text not null) strict",
    # What was read of every transcript file, so that the next harvest reads only what is new.
    """create table files (
        path text primary key, cursor blob not null
    ) strict""",
    # `body` is the Session as MessagePack, redacted; the columns are what is searched by.
    """create table sessions (
        client text not null, id text not null, kind text not null, project text, started text, ended text,
        path text not null, body blob not null, primary key (client, id)
    ) strict""",
    "create index sessions_by_start on sessions (started)",
    # Records already counted, so that a fork's or resume's copies count once.
    "create table records (uuid blob primary key, session text not null) strict, without rowid",
    """create table nights (
        id text primary key, state text not null, started text not null, ended text,
        plan blob, report blob
    ) strict""",
    # Written before and after everything that spends: state is started, done or failed.
    """create table calls (
        night text not null references nights (id), kind text not null, key text not null,
        state text not null, started text not null, ended text,
        reserved_usd real not null, reserved_tokens integer not null,
        usd real, tokens integer, result blob, error text,
        primary key (night, kind, key)
    ) strict""",
    # A task that was learned from can judge no more: sides are kept for ever.
    "create table splits (task text primary key, split text not null) strict",
    # Candidates whose evidence is carried from night to night.
    """create table candidates (
        id text primary key, skill text not null, place text not null, state text not null,
        created text not null, body blob not null
    ) strict""",
    # Edits the gate or the user turned down, told to the optimizer.
    """create table rejected_edits (
        id integer primary key, skill text not null, content text not null, reason text not null,
        effect real, at text not null
    ) strict""",
    """create table proposals (
        id text primary key, skill text not null, state text not null, created text not null,
        body blob not null
    ) strict""",
    # Who decided what, when and why; rows are only ever added.
    """create table decisions (
        id integer primary key, proposal text not null, action text not null, at text not null,
        detail text not null
    ) strict""",
)

_RESUMABLE = (
    # Heads of turns say whose copy a turn is; the records of a session are kept together, eight bytes each.
    "drop table records",
    "create table heads (head integer primary key, session text not null) strict",
    "create table marks (session text not null, marks blob not null) strict",
    "create index marks_by_session on marks (session)",
    # Transcripts are read once more, now remembering how to go on.
    "delete from files",
)

_NAMED = (
    # Family and skill of every task as they were first mined: later sessions change neither.
    """create table mined (
        task text primary key, family text not null, skill text not null, skill_origin text not null
    ) strict""",
    # The repository a folder was seen in, which cannot be told any more when a worktree is removed.
    "create table roots (folder text primary key, root text not null) strict",
)

_RICHER = (
    # The marks tell that a file changed, without loading the rest; `state` is for going on at the offset.
    "drop table files",
    """create table files (
        path text primary key, marks text not null, offset integer not null, prefix_hash text not null,
        session text not null, gone integer not null default 0, state blob not null
    ) strict""",
    # Who read a session: what an older reader found never keeps a newer one's reading out.
    "alter table sessions add column reader integer not null default 0",
    # Marks are computed otherwise now; they are found anew with the transcripts.
    "delete from heads",
    "delete from marks",
)

_FINDABLE = (
    # Has all that sessions are searched by, so that no body is touched which does not fit.
    "drop index sessions_by_start",
    "create index sessions_to_find on sessions (started, id, ended, client, kind, project)",
    "create index sessions_by_id on sessions (id, client)",
)

_RULED = (
    # What the gate said of every candidate on every night, with the numbers behind it.
    """create table rulings (
        id integer primary key, night text not null, skill text not null, place text not null,
        candidate text not null, identity text not null, at text not null, body blob not null,
        unique (night, candidate)
    ) strict""",
    "create index rulings_by_candidate on rulings (candidate, id)",
    # All candidates by their first run: family control counts them. Places are never used twice.
    """create table family (
        place integer primary key autoincrement, candidate text not null, identity text not null,
        accepted integer not null default 0, unique (candidate, identity)
    ) strict""",
    "create table looks (place text primary key, body blob not null) strict",
    # Runs of a skill against itself: what the gate would make of luck.
    """create table calibrations (
        night text primary key, identity text not null, at text not null, body blob not null
    ) strict""",
)

_JUDGED = (
    # How each judge did on answers whose worth was known.
    "create table judges (identity text primary key, at text not null, body blob not null) strict",
)

_TITLED = ("create table titles (plain text primary key, title text not null) strict",)

_TOLD = (
    # Who turned an edit down, whether it was measured with others, and what a delete was to take away.
    "alter table rejected_edits add column by_user integer not null default 0",
    "alter table rejected_edits add column shared integer not null default 0",
    "alter table rejected_edits add column target text not null default ''",
    "update rejected_edits set by_user = 1 where reason like 'by the user: %'",
)

_MONTHLY = (
    # What a month has spent is asked before every call, without touching the results.
    "create index calls_by_start on calls (started, usd, reserved_usd)",
)

_RENAMED = (
    # Who read a file: what an older reader left for going on is of no use to a newer one.
    "alter table files add column reader integer not null default 0",
    # A file that was given another name is known by its marks, or by what it begins with.
    "create index files_by_marks on files (marks)",
    "create index files_by_prefix on files (prefix_hash)",
)

_JOURNALLED = (
    # Decisions that were begun: what a killed one has done is found out from the files themselves.
    "create table intents (proposal text primary key, at text not null, body blob not null) strict",
    "alter table decisions add column who text not null default ''",
    "create index decisions_by_proposal on decisions (proposal, id)",
)

_WORKED = (
    # Seconds of work on a night, over all processes that worked on it; the time between them is nobody's.
    "alter table nights add column worked real not null default 0",
)

_LEARNED = (
    # Which skill a call was for, also when the run that made it was cut off.
    "alter table calls add column share text not null default ''",
    # What the training of a skill leaves to the next night.
    "create table memories (place text primary key, at text not null, body blob not null) strict",
)

_SERVED = (
    # What the daemon remembers: its schedule, and what it is doing.
    "create table memos (name text primary key, body blob not null) strict",
    # What became of each night's window, by the local date it began on.
    """create table windows (
        window text primary key, state text not null, reason text not null, at text not null
    ) strict""",
    # What the daemon is asked to do, by whoever can write here.
    """create table commands (
        id integer primary key autoincrement, name text not null, argument text not null,
        at text not null, taken text
    ) strict""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _RESUMABLE,
    _NAMED,
    _RICHER,
    _FINDABLE,
    _RULED,
    _JUDGED,
    _TITLED,
    _TOLD,
    _MONTHLY,
    _RENAMED,
    _JOURNALLED,
    _WORKED,
    _LEARNED,
    _SERVED,
)
