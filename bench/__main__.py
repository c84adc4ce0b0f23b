"""All benchmarks, one after the other, into one folder: NAME.json, NAME.md (the tables) and plots.

python -m bench                            everything, about two hours
python -m bench --quick                    real schemas only, a small sample: about three minutes
python -m bench --only cliffs memory       some of them
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

try:
    from . import cliffs, grammars, limits, masks, memory, startup
    from .report import note
except ModuleNotFoundError as error:
    raise SystemExit(f"error: the benchmarks need {error.name}: pip install '.[bench]'") from None

OUT = Path("build/bench")

Program = Callable[[list[str] | None], None]

PROGRAMS: dict[str, Program] = {
    "startup": startup.main,
    "masks": masks.main,
    "grammars": grammars.main,
    "cliffs": cliffs.main,
    "memory": memory.main,
    "limits": limits.main,
}
WITH_PLOTS = {"masks", "memory"}
QUICK = {"masks": ["--quick"]}


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmarks from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"the folder (default {OUT})")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, on a small sample")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, metavar="NAME", help=f"some of {', '.join(PROGRAMS)}")
    options = parser.parse_args(arguments)
    chosen = options.only or (QUICK if options.quick else PROGRAMS)
    for name in chosen:
        note(f"{name} ...")
        run(name, options.out, QUICK.get(name, []) if options.quick else [])
    note(f"figures, tables and plots are in {options.out}")


def run(name: str, folder: Path, arguments: list[str]) -> None:
    """Run one benchmark; what it prints is printed when it has ended, and kept."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [*arguments, "--json", str(folder / f"{name}.json")]
    if name in WITH_PLOTS:
        arguments += ["--plots", str(folder)]
    printed = io.StringIO()
    with redirect_stdout(printed):
        PROGRAMS[name](arguments)
    print(printed.getvalue(), flush=True)
    (folder / f"{name}.md").write_text(printed.getvalue())


if __name__ == "__main__":
    main()
