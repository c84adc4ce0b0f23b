"""`python -m bench`: which benchmarks run, with which options, and what is left in the folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench import __main__ as all_benchmarks
from tests.data import CHECKOUT


@pytest.fixture
def calls(monkeypatch) -> list[list[str]]:
    """Programs that note their options, print a table and write JSON, in place of the real ones."""
    noted: list[list[str]] = []

    def stand_in(name):
        def program(arguments):
            noted.append([name, *arguments])
            print(f"table of {name}")
            Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(name))

        return program

    monkeypatch.setattr(all_benchmarks, "PROGRAMS", {name: stand_in(name) for name in all_benchmarks.PROGRAMS})
    return noted


def test_everything_goes_into_one_folder(calls, tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    all_benchmarks.main(["--out", str(folder)])
    names = ["startup", "masks", "grammars", "cliffs", "memory", "limits"]
    assert [call[0] for call in calls] == names
    for name in names:
        assert json.loads((folder / f"{name}.json").read_text()) == name
        assert (folder / f"{name}.md").read_text() == f"table of {name}\n"
    assert capsys.readouterr().out.split("\n\n") == [*(f"table of {name}" for name in names), ""]
    plotted = [call[0] for call in calls if call[-2:] == ["--plots", str(folder)]]
    assert plotted == ["masks", "memory"]


def test_quick_is_the_real_schemas_only(calls, tmp_path):
    all_benchmarks.main(["--out", str(tmp_path), "--quick"])
    assert [call[:2] for call in calls] == [["masks", "--quick"]]


def test_some_of_them(calls, tmp_path):
    all_benchmarks.main(["--out", str(tmp_path), "--only", "cliffs", "startup"])
    assert [call[0] for call in calls] == ["cliffs", "startup"]


@pytest.mark.parametrize("name", all_benchmarks.PROGRAMS)
def test_every_program_knows_the_options_it_gets(name, capsys):
    """The stand-ins take any option; the programs themselves must name these in their help."""
    with pytest.raises(SystemExit):
        all_benchmarks.PROGRAMS[name](["--help"])
    text = capsys.readouterr().out
    assert "--json" in text
    assert "--plots" in text or name not in all_benchmarks.WITH_PLOTS
    assert "--quick" in text or name not in all_benchmarks.QUICK


def test_a_missing_package_is_named() -> None:
    code = "import sys; sys.modules['psutil'] = None; import runpy; runpy.run_module('bench', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT)
    assert (done.returncode, done.stderr) == (1, "error: the benchmarks need psutil: pip install '.[bench]'\n")
