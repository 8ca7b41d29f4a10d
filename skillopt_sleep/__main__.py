"""`python -m skillopt_sleep`: the same as the `skillopt-sleep` command."""

from skillopt_sleep.cli import main

main()
