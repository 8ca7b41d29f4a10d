"""The model server as a process: `python -m skillopt_replay.models.local_server MODEL.gguf`.

It reads its API key as the first line of standard input, prints one JSON line {"url": ...} when the model
is loaded, and ends when standard input closes: so it never outlives the process that holds the other end,
however that one dies.
"""

from __future__ import annotations

import argparse
import json
import os
import sys


def main() -> None:
    """Load the model, serve it on a free loopback port, and wait for the end of standard input."""
    parser = argparse.ArgumentParser(prog="local_server")
    parser.add_argument("model")
    parser.add_argument("--alias", default="local")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--context", type=int, required=True, help="tokens shared by all slots")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    # llama.cpp's native code may write to standard output; the JSON line must stay alone there.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    key = sys.stdin.readline().strip()

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = options.model
    settings.model_alias = {options.alias}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.api_keys = [key]
    settings.n_parallel = options.slots
    settings.n_ctx = options.context
    # One pool of context for all slots: a long prompt may use what short ones leave free.
    settings.kv_unified = True
    # Keeps the state of prompts that lost their slot; the default may take 8 GB.
    settings.cache_ram_mib = 256
    settings.ui = False
    settings.verbosity = -1
    for pool in (settings.cpuparams, settings.cpuparams_batch):
        pool.n_threads = options.threads
        pool.poll = 0  # waiting threads sleep: the machine is the user's
    server = xllamacpp.Server(settings)
    answers.write(json.dumps({"url": server.listening_address}) + "\n")
    answers.flush()
    while sys.stdin.read(4096):
        pass
    # The server's own threads would hold up a normal exit until running requests end.
    os._exit(0)


if __name__ == "__main__":
    main()
