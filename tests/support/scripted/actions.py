"""The actions of a step, as calls of whichever tools the client offers."""

from __future__ import annotations

import json
import re
from pathlib import Path


def resolve(action, turn, cwd):
    """An action -> ('text'|'think', str) or ('call', name, input, kind)."""

    def sub(v):
        if isinstance(v, str):
            return v.replace("{cwd}", cwd)
        if isinstance(v, dict):
            return {k: sub(x) for k, x in v.items()}
        if isinstance(v, list):
            return [sub(x) for x in v]
        return v

    action = sub(action)
    has = turn.tools.__contains__

    def absolute(p):
        return str(Path(cwd, p))

    def call(name, args):
        kind = "custom" if (turn.tools.get(name) or {}).get("type") == "custom" else "function"
        return ("call", name, args, kind)

    def shell(cmd):
        if has("Bash"):
            return call("Bash", {"command": cmd, "description": "Run a command"})
        if has("bash"):
            props = _props(turn.tools["bash"])
            args = {"command": cmd}
            if "description" in props:
                args["description"] = "Run a command"
            return call("bash", args)
        if has("exec_command"):
            return call("exec_command", {"cmd": cmd})
        if has("shell_command"):
            return call("shell_command", {"command": cmd})
        if has("shell"):
            return call("shell", {"command": ["bash", "-lc", cmd]})
        if has("exec"):  # Codex "code mode" (custom tool, JS source)
            return (
                "call",
                "exec",
                "const r = await tools.exec_command({}); text(r.output ?? JSON.stringify(r));".format(
                    json.dumps({"cmd": cmd})
                ),
                "custom",
            )
        if has("run_shell_command"):
            return call("run_shell_command", {"command": cmd, "description": "Run a command"})
        return ("text", f"(no shell tool offered; would run: {cmd})")

    if "say" in action:
        return ("text", action["say"])
    if "think" in action:
        return ("think", action["think"])
    if "shell" in action:
        return shell(action["shell"])
    if "write" in action:
        path, content = absolute(action["write"]["path"]), action["write"]["content"]
        if has("Write"):
            return call("Write", {"file_path": path, "content": content})
        if has("create"):
            return call("create", {"path": path, "file_text": content})
        if has("write"):
            key = "filePath" if "filePath" in _props(turn.tools["write"]) else "path"
            return call("write", {key: path, "content": content})
        if has("write_file"):
            return call("write_file", {"file_path": path, "content": content})
        patch = "*** Begin Patch\n*** Add File: {}\n{}*** End Patch\n".format(
            action["write"]["path"],
            "".join("+" + line + "\n" for line in content.splitlines()),
        )
        if has("apply_patch"):
            if (turn.tools["apply_patch"] or {}).get("type") == "custom":
                return ("call", "apply_patch", patch, "custom")
            return call("apply_patch", {"input": patch})
        if has("exec") and not (has("exec_command") or has("shell_command")):
            return (
                "call",
                "exec",
                f"const r = await tools.apply_patch({json.dumps(patch)}); text(JSON.stringify(r));",
                "custom",
            )
        return shell("cat > {} <<'EOF_MOCK'\n{}\nEOF_MOCK".format(path, content.rstrip("\n")))
    if "edit" in action:
        e = action["edit"]
        path = absolute(e["path"])
        if has("Edit"):
            return call("Edit", {"file_path": path, "old_string": e["old"], "new_string": e["new"]})
        if has("edit"):
            props = _props(turn.tools["edit"])
            if "filePath" in props:
                return call("edit", {"filePath": path, "oldString": e["old"], "newString": e["new"]})
            return call("edit", {"path": path, "old_str": e["old"], "new_str": e["new"]})
        patch = "*** Begin Patch\n*** Update File: {}\n@@\n{}{}*** End Patch\n".format(
            e["path"],
            "".join("-" + line + "\n" for line in e["old"].splitlines()),
            "".join("+" + line + "\n" for line in e["new"].splitlines()),
        )
        if has("apply_patch"):
            if (turn.tools["apply_patch"] or {}).get("type") == "custom":
                return ("call", "apply_patch", patch, "custom")
            return call("apply_patch", {"input": patch})
        if has("exec") and not (has("exec_command") or has("shell_command")):
            return (
                "call",
                "exec",
                f"const r = await tools.apply_patch({json.dumps(patch)}); text(JSON.stringify(r));",
                "custom",
            )
        return shell("sed -i 's/{}/{}/' {}".format(e["old"], e["new"], path))
    if "read" in action:
        path = absolute(action["read"]["path"])
        if has("Read"):
            return call("Read", {"file_path": path})
        if has("view"):
            return call("view", {"path": path})
        if has("read"):
            key = "filePath" if "filePath" in _props(turn.tools["read"]) else "path"
            return call("read", {key: path})
        return shell("cat " + path)
    if "subagent" in action:
        a = action["subagent"]
        for name in ("Agent", "Task"):
            if has(name):
                return call(
                    name,
                    {
                        "description": a.get("description", "look around"),
                        "prompt": a["prompt"],
                        "subagent_type": a.get("type", "general-purpose"),
                    },
                )
        if has("task"):
            props = _props(turn.tools["task"])
            args = {"description": a.get("description", "look around"), "prompt": a["prompt"]}
            for key, value in (
                ("agent_type", a.get("copilot_type", "general-purpose")),
                ("name", "helper"),
                ("mode", "sync"),
            ):
                args.update({key: value} if key in props else {})
            if "subagent_type" in props:
                args["subagent_type"] = "general"
            return call("task", args)
        if has("spawn_agent"):
            props = _props(_find_tool(turn.tools["spawn_agent"], "spawn_agent"))
            args = {"message": a["prompt"]}
            if "task_name" in props:
                args["task_name"] = "helper"
            return call("spawn_agent", args)
        return ("text", "(no subagent tool offered)")
    if "skill" in action:
        if has("Skill"):
            return call("Skill", {"skill": action["skill"]})
        if has("skill"):
            props = _props(turn.tools["skill"])
            return call("skill", {("skill" if "skill" in props else "name"): action["skill"]})
        text = turn._texts()
        m = re.search(r"[^\s\"'(`]*/{}/SKILL\.md".format(re.escape(action["skill"])), text)
        path = m.group(0) if m else "/nonexistent/SKILL.md"
        root = re.search(r"`{}` = `([^`]+)`".format(re.escape(path.split("/")[0])), text)  # Codex aliases
        if root:
            path = root.group(1) + path[path.index("/") :]
        return shell("cat " + path)
    if "structured" in action:
        if has("StructuredOutput"):
            return call("StructuredOutput", action["structured"])
        return ("text", json.dumps(action["structured"]))
    if "todo" in action:
        items = action["todo"]
        if has("TodoWrite"):
            return call(
                "TodoWrite", {"todos": [{"content": t, "activeForm": t, "status": "pending"} for t in items]}
            )
        if has("update_plan"):
            return call("update_plan", {"plan": [{"step": t, "status": "pending"} for t in items]})
        if has("TaskCreate"):
            return call("TaskCreate", {"subject": items[0], "description": "; ".join(items)})
        if has("update_todo"):
            return call("update_todo", {"todos": "".join(f"- [ ] {t}\n" for t in items)})
        return ("text", "Plan: " + "; ".join(items))
    if "tool" in action:
        args = action.get("input", {})
        kind = "custom" if isinstance(args, str) else "function"
        return ("call", action["tool"], args, kind)
    raise ValueError(f"unknown action {action!r}")


def _find_tool(entry, name):
    if entry.get("type") == "namespace":
        for t in entry.get("tools") or []:
            if t.get("name") == name:
                return t
    return entry


def _props(tool):
    schema = (
        tool.get("input_schema")
        or tool.get("parameters")
        or (tool.get("function") or {}).get("parameters")
        or {}
    )
    return schema.get("properties") or {}
