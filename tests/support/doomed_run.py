"""A training run that kills itself: at the n-th question or rollout of a stage, or before its n-th write.

python -m tests.support.doomed_run FOLDER STAGE N [KIND]

KIND names the run: one of RUNS in tests/training/test_resume.py.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from skillopt_sleep.training import Trainer, run_folder
from tests.support.school import School, Teacher, name_stage
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


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "plain")
