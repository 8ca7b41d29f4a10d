"""Started by its path, without site-packages and the user's settings, so that starting costs little."""

import sys

sys.path.append(__file__.rpartition("skillopt_replay")[0] or ".")

if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        from skillopt_replay.launcher.forking import serve

        serve(*map(int, sys.argv[2:]))
    from skillopt_replay.launcher.command import main

    main(sys.argv[1:])
