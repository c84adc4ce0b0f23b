"""The command line: the script `infernix`, and `python -m infernix`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run it, or say what to install: the core of Infernix comes without a command line."""
    try:
        from infernix.engine.cli import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "infernix":
            raise
        print(f"error: the command line needs {error.name}: pip install 'infernix[engine]'", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
