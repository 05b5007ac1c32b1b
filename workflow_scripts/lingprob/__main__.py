"""`python -m lingprob`: the same as the command `lingprob`."""

from lingprob.command_line.parser import main

main()
