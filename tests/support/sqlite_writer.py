"""A program that holds a database open and runs what it is told: lines of JSON, [statement, values]."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path


class Writer:
    """Drives such a program."""

    def __init__(self, path: Path):
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.run("PRAGMA journal_mode")

    def run(self, sql: str, *values) -> list:
        """Run a statement and return its rows; raises what the database said."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([sql, values]) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        if isinstance(told, str):
            raise sqlite3.OperationalError(told)
        return told

    def kill(self) -> None:
        """End it in the middle of what it does, as a crash would."""
        self.process.kill()
        self._wait()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self._wait()

    def _wait(self) -> None:
        self.process.wait(30)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()


def main() -> None:
    connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
    for line in sys.stdin:
        sql, values = json.loads(line)
        try:
            told: list | str = connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            told = str(error)
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    connection.close()


if __name__ == "__main__":
    main()
