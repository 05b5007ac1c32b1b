"""`python -m lingprob`: the same as the command `lingprob`."""

from lingprob.api.cli import main

main()
