"""Why bubblewrap does not work on a system, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from skillopt_replay.sandbox.launching import find_failure


def describe_unfiltered(errors: str, code: int) -> str:
    """Return why the network cannot be kept to a service, by what a probe told and its exit code."""
    reason = find_failure(errors) or f"it ended with {code}"
    return f"runs cannot be kept to the network of their model: {reason}"


def explain_network(*, is_setuid: bool) -> str:
    """Return what to do where the rest works but not the network."""
    way_out = 'or let runs use the whole network, this machine\'s loopback included: replay.network = "any"'
    if is_setuid:
        return (
            "this bwrap is installed setuid root, so its network cannot be entered: "
            f"pip install 'skillopt-sleep[sandbox]' brings one that is not; {way_out}"
        )
    return f"a container's security profile often forbids it: run outside of one, {way_out}"


def explain(message: str) -> str:
    """Return what to do about a failed start."""
    if _switch("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor keeps programs from making user namespaces (Ubuntu 24.04 and later): install an "
            "AppArmor profile that lets bwrap do it, or run "
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _switch("kernel/unprivileged_userns_clone") == "0":
        return "user namespaces are switched off: sudo sysctl kernel.unprivileged_userns_clone=1"
    if _switch("user/max_user_namespaces") == "0":
        return "user namespaces are switched off: sudo sysctl user.max_user_namespaces=15000"
    if "mount proc" in message or "pivot_root" in message:
        return "this looks like a container inside which no other can start: run outside of it"
    if "namespace" in message or "uid map" in message or "Operation not permitted" in message:
        return (
            "this system does not let programs make user namespaces; "
            "a container's security profile often forbids it"
        )
    return "run bwrap --ro-bind / / true to see what fails"


def _switch(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None
