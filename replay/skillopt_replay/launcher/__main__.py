"""Started by its path, without site-packages and the user's settings, so that starting costs little."""

import sys

sys.path.append(__file__.rpartition("skillopt_replay")[0] or ".")

from skillopt_replay.launcher.command import main

if __name__ == "__main__":
    main(sys.argv[1:])
