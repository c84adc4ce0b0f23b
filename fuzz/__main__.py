"""`python -m infernix.fuzz`: the commands without the rest of the command line."""

from .commands import main

if __name__ == "__main__":
    main()
