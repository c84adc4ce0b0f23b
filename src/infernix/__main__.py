"""The command line: the script `infernix`, and `python -m infernix`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run it. The core of Infernix comes without a command line: then only `warmup` is there."""
    try:
        from infernix.engine.cli import main as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "infernix":
            raise
        if sys.argv[1:] == ["warmup"]:
            _warm_up()
            return
        print(
            f"error: the command line needs {error.name}; "
            "install the extra `engine`: pip install '.[engine]' in the checkout",
            file=sys.stderr,
        )
        sys.exit(2)
    run()


def _warm_up() -> None:
    from infernix import warm_up

    try:
        warm_up()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
