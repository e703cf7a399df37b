"""python -m oarlock: the command."""

from ._command import main

main()
