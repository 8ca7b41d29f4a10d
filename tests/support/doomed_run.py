"""Training runs that kill themselves: at the n-th question or rollout of a stage, or before the n-th write.

python -m tests.support.doomed_run

reads lines of JSON, each FOLDER, STAGE, N and KIND of a run; KIND is one of RUNS in
tests/training/test_resume.py. Every run is a process of its own, forked from this one before anything was
trained in it, which saves loading the trainer each time. How it ended, as an exit status or the negative
number of a signal, is written as a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback

from skillopt_replay import checks
from skillopt_sleep.training import Trainer, run_folder
from tests.support.school import School, Teacher, name_stage, search_here
from tests.training.test_resume import RUNS

_SPACES = ("rollout", "selection", "recheck", "slow_rollout", "test")


def main(folder, stage, number, kind):
    seen = 0

    def note(happened):
        nonlocal seen
        seen += happened == stage
        if happened == stage and seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    class DoomedSchool(School):
        async def rollout(self, task, skill, sample):
            note(_SPACES[sample // 1_000_000])
            return await super().rollout(task, skill, sample)

    class DoomedTeacher(Teacher):
        async def complete(self, messages, **more):
            note(name_stage(more["schema"]))
            return await super().complete(messages, **more)

    checks.search = search_here
    write = run_folder.write_atomically

    def write_or_die(path, text, **more):
        note("write")
        write(path, text, **more)

    run_folder.write_atomically = write_or_die
    write_folder = run_folder.write_folder

    def write_folder_or_die(place, skill):
        note("write")
        write_folder(place, skill)

    run_folder.write_folder = write_folder_or_die
    run = RUNS[kind]
    trainer = Trainer(DoomedSchool(**run.school), DoomedTeacher(**run.teacher), run.config, out=folder)
    asyncio.run(trainer.train(run.skill))


def serve():
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                main(*json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
