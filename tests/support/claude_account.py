"""Anthropic as Claude Code sees it: an organisation's account, its settings, and a scripted model."""

from __future__ import annotations

import json
from typing import Any

from tests.support.account_service import AccountService, Handler

HOST = "api.anthropic.com"


class ClaudeAccount(AccountService):
    """`settings` are those of the organisation, `asked` holds each path."""

    def __init__(self, model_port: int, settings: dict[str, Any]) -> None:
        self.asked: list[str] = []
        outer = self

        class Answers(Handler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path.startswith("/api/claude_code/settings"):
                    told = {"uuid": "0" * 8, "checksum": "sum", "settings": settings}
                    self.answer(200, json.dumps(told).encode())
                else:
                    self.answer(404, b"{}")

            def do_POST(self) -> None:
                body = self.read_body()
                outer.asked.append(self.path)
                self.pass_on(model_port, self.path, body)

        super().__init__(Answers)
