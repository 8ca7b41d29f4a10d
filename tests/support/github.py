"""GitHub as Copilot sees it: an account, its models, and a scripted one that answers."""

from __future__ import annotations

import json

from tests.support.account_service import AccountService, Handler

HOSTS = ("github.com", "api.github.com", "api.githubcopilot.com")
_ACCOUNT = {
    "login": "someone", "copilot_plan": "individual_pro", "access_type_sku": "monthly_subscriber",
    "chat_enabled": True, "cli_enabled": True, "is_mcp_enabled": True,
    "endpoints": {"api": "https://api.githubcopilot.com"},
}  # fmt: skip
_MODEL = {
    "id": "gpt-5.5", "name": "gpt-5.5", "version": "gpt-5.5", "vendor": "OpenAI", "object": "model",
    "model_picker_enabled": True, "policy": {"state": "enabled"},
    "supported_endpoints": ["/chat/completions"], "billing": {"is_premium": False, "multiplier": 0},
    "capabilities": {
        "family": "gpt-5.5", "type": "chat", "tokenizer": "o200k_base",
        "limits": {"max_context_window_tokens": 200_000, "max_output_tokens": 16_000},
        "supports": {"streaming": True, "tool_calls": True},
    },
}  # fmt: skip


class GitHub(AccountService):
    """All of its hosts; `asked` holds the path and body of each request."""

    def __init__(self, model_port: int) -> None:
        self.asked: list[tuple[str, bytes]] = []
        outer = self

        class Answers(Handler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, b""))
                if "copilot_internal/user" in self.path:
                    self.answer(200, json.dumps(_ACCOUNT).encode())
                elif self.path.startswith("/models"):
                    self.answer(200, json.dumps({"object": "list", "data": [_MODEL]}).encode())
                elif self.path.endswith("/enabled"):
                    self.answer(200, b'{"enabled": true}')
                else:
                    self.answer(404, b'{"message": "Not Found"}')

            def do_POST(self) -> None:
                body = self.read_body()
                outer.asked.append((self.path, body))
                if self.path.endswith("/chat/completions"):
                    self.pass_on(model_port, f"/v1{self.path}", body)
                else:
                    self.answer(404, b'{"message": "Not Found"}')

        super().__init__(Answers)
