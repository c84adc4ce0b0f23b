"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.engine.checkpoints import save_checkpoint
from typer.testing import CliRunner

from infernix.engine.cli import app

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
DATES = ["--grammar-file", str(EXAMPLES / "dates.gbnf")]
DONE, UNFINISHED, ERROR, REJECTED = 0, 1, 2, 3


def infernix(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command in this process; exit code, stdout, stderr."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def infernix_process(*arguments: str | Path, **options: object) -> subprocess.Popen[bytes]:
    """The same as a process of its own."""
    command = [sys.executable, "-c", "from infernix.engine.cli import main; main()", *map(str, arguments)]
    # A test run in the background of a shell ignores interrupts, and its children would inherit that.
    options.setdefault("preexec_fn", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_checkpoint(folder, "llama", seed=3)
    return folder


# --- help and start-up


def test_help_names_every_command_and_every_option() -> None:
    code, out, _ = infernix("--help")
    assert code == DONE
    assert {"generate", "check", "grammar", "schema", "warmup", "model"} <= set(out.split())
    _, out, _ = infernix("generate", "--help")
    for option in (
        "grammar-file",
        "json-schema-file",
        "json-object",
        "regex",
        "choice",
        "greedy",
        "seed",
        "max-new",
    ):
        assert f"--{option}" in out


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from infernix.engine.cli import app; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numba", "numpy", "transformers", "tokenizers", "jinja2", "lark"} & set(modules)


def test_the_version_is_that_of_the_package() -> None:
    assert infernix("--version")[:2] == (DONE, f"infernix {version('infernix')}\n")
    command = [sys.executable, "-m", "infernix", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("infernix ")


def without(*packages: str) -> list[str]:
    """The beginning of a command in an interpreter that lacks some packages."""
    lacking = f"import sys; sys.modules.update(dict.fromkeys({packages!r})); "
    return [sys.executable, "-c", lacking + "from infernix.__main__ import main; main()"]


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("typer", ["--help"]),
        ("rich", ["model", "get"]),
        ("tokenizers", ["generate", "--model", "MODEL", "--prompt", "x"]),
        ("torch", ["generate", "--model", "MODEL", "--prompt", "x"]),
    ],
)
def test_a_missing_extra_is_named(package: str, arguments: list[str], model: Path) -> None:
    arguments = [str(model) if argument == "MODEL" else argument for argument in arguments]
    done = subprocess.run([*without(package), *arguments], capture_output=True, text=True)
    assert done.returncode == ERROR
    hint = "install the extra `engine`: pip install '.[engine]' in the checkout"
    assert re.fullmatch(rf"error: [a-z ]+ {package}[^\n]*; {re.escape(hint)}\n", done.stderr)


def test_the_core_can_warm_up_without_the_command_line() -> None:
    done = subprocess.run([*without("typer"), "warmup"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (DONE, "")
    assert "error" not in done.stderr


# --- check


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("2024-02-29", DONE, "in the language"),
        ("2024-0", UNFINISHED, "a legal beginning, but unfinished; it goes on with '1'-'9'"),
        ("", UNFINISHED, "it goes on with '0'-'9'"),
        ("2023-02-29", REJECTED, "stops at byte 9 (line 1, column 10)\nexpected '0'-'8'; found '9'"),
        ("2023-02-28!", REJECTED, "stops at byte 10 (line 1, column 11)\nexpected 'T' or the end; found '!'"),
    ],
)
def test_check_says_where_a_text_stands(text: str, code: int, expected: str) -> None:
    found, out, _ = infernix("check", *DATES, text)
    assert found == code
    assert expected in out


def test_check_reads_standard_input_and_counts_characters() -> None:
    arguments = ["check", "--regex", "(é\n)*[a-c]!", "-"]
    assert infernix(*arguments, stdin="é\né\nb!".encode())[0] == DONE
    code, out, _ = infernix(*arguments, stdin="é\né\néx".encode())
    assert code == REJECTED
    assert "stops at byte 8 (line 3, column 2)\nexpected newline; found 'x'" in out
    assert out.endswith("  éx\n   ^\n")


@pytest.mark.parametrize("data", [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xc0\x80"])
def test_check_refuses_bytes_that_are_not_utf8(data: bytes) -> None:
    assert infernix("check", "--regex", "[^]*", stdin=data)[0] == REJECTED


def test_check_takes_every_kind_of_constraint(tmp_path: Path) -> None:
    schema = tmp_path / "s.json"
    schema.write_text('{"type": "integer", "minimum": 10, "maximum": 12}')
    assert infernix("check", "--json-schema-file", schema, "11")[0] == DONE
    assert infernix("check", "--json-schema-file", schema, "13")[0] == REJECTED
    assert infernix("check", "--json-object", '{"a": [1]}')[0] == DONE
    assert infernix("check", "--json-object", "[1]")[0] == REJECTED
    assert infernix("check", "--choice", "yes", "--choice", "no", "no")[0] == DONE
    assert infernix("check", "--choice", "yes", "--choice", "no", "nö")[0] == REJECTED
    assert infernix("check", "--choice", "-", "--", "-", stdin=b"-")[0] == DONE


def test_check_says_what_a_line_end_too_much_is() -> None:
    arguments = ["check", "--choice", "yes", "--choice", "yesterday"]
    for text in (b"yes\n", b"yes\r\n"):
        code, out, _ = infernix(*arguments, stdin=text)
        assert code == REJECTED
        assert "expected 't' or the end; found" in out
        assert "only the end of the line is too much" in out
    for text in (b"ye\n", b"yes\nno", b"yes!"):
        assert "the end of the line" not in infernix(*arguments, stdin=text)[1]


def test_check_knows_the_layouts() -> None:
    text = '{"a": [1, 2]}'
    for layout, spaced, compact in (("free", DONE, DONE), ("spaced", DONE, REJECTED), ("compact", REJECTED, DONE)):
        assert infernix("check", "--json-object", "--layout", layout, text)[0] == spaced
        assert infernix("check", "--json-object", "--layout", layout, text.replace(" ", ""))[0] == compact
    assert infernix("check", "--json-object", text)[0] == DONE


def test_check_reads_the_other_dialect_and_another_root(tmp_path: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_text('root ::= | "a"\nother ::= [xyz].\n')
    assert infernix("check", "--grammar-file", grammar, "--dialect", "llama.cpp", "")[0] == DONE
    arguments = ["check", "--grammar-file", grammar, "--dialect", "llama.cpp", "--root", "other"]
    assert infernix(*arguments, "x!")[0] == DONE


def test_check_of_tokens_needs_a_model(tmp_path: Path, model: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_text('root ::= Token(261) ExcludeToken(97, 98){1,3} "."\n')  # 261 is "hello"
    code, _, err = infernix("check", "--grammar-file", grammar, "hello!.")
    assert code == ERROR
    assert "--model" in err
    with_model = ["check", "--grammar-file", grammar, "--model", model]
    assert infernix(*with_model, "hello!.")[0] == DONE
    assert "unfinished; it goes on with token 261 b'hello'\n" in infernix(*with_model, "")[1]
    code, out, _ = infernix(*with_model, "helloa.")
    assert code == REJECTED
    assert "token 97 (b'a') is refused" in out
    assert "stops at byte 5" in out


# --- errors: one line, no traceback, exit code 2


def test_a_grammar_error_shows_the_line_and_a_caret(tmp_path: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_text('root ::= "a"\nother ::= "b" | missing\n')
    code, out, err = infernix("check", "--grammar-file", grammar, "a")
    assert (code, out) == (ERROR, "")
    lines = err.splitlines()
    assert lines[0].startswith(f"error: {grammar}:2:17: ")
    assert lines[1:] == ['  other ::= "b" | missing', "                  ^"]


def test_an_error_of_a_whole_grammar_shows_a_line_too(model: Path, tmp_path: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_text('root ::= "a" root\n')
    code, _, err = infernix("check", "--grammar-file", grammar, "a")
    assert code == ERROR
    assert err.splitlines()[1:] == ['  root ::= "a" root', "  ^"]
    code, _, err = infernix("grammar", grammar)
    assert (code, err.splitlines()[1:]) == (ERROR, ['  root ::= "a" root', "  ^"])
    grammar.write_text('root ::= "a" other\nother ::= Token(99999)\n')
    code, _, err = infernix("check", "--grammar-file", grammar, "--model", model, "a")
    assert code == ERROR
    assert err.startswith(f"error: {grammar}:2:17: ")
    assert err.splitlines()[1:] == ["  other ::= Token(99999)", "                  ^"]


def test_a_regex_error_shows_the_place() -> None:
    code, _, err = infernix("check", "--regex", r"ab(?=c)", "ab")
    assert code == ERROR
    assert err.splitlines()[1:] == [r"  ab(?=c)", "    ^"]


ONE_LINE_ERRORS = {
    "no constraint": ["check", "a"],
    "two constraints": ["check", "--regex", "a", "--json-object", "a"],
    "missing file": ["check", "--grammar-file", "no-such-file.gbnf", "a"],
    "a folder": ["check", "--grammar-file", ".", "a"],
    "missing model": ["generate", "--model", "no-such-model", "--prompt", "x"],
    "unknown model name": ["model", "get", "gpt-5"],
    "greedy and hot": ["generate", "--greedy", "--temperature", "1", "--prompt", "x"],
    "folder without a model": ["generate", "--model", str(EXAMPLES), "--prompt", "x"],
    "not a model": ["generate", "--model", str(EXAMPLES / "json.gbnf"), "--prompt", "x"],
}


@pytest.mark.parametrize("case", ONE_LINE_ERRORS)
def test_errors_are_one_line(case: str) -> None:
    code, out, err = infernix(*ONE_LINE_ERRORS[case])
    assert (code, out) == (ERROR, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("empty", b"", "1:1"),
        ("not UTF-8", b'root ::= "a"\nb ::= "\xff"', "2:"),
        ("unbalanced", b'root ::= ("a"', "1:"),
        ("deep", b"root ::= " + b"(" * 1001 + b'"a"' + b")" * 1001, "1:"),
        ("bounds", b'root ::= "a"{5,2}', "1:"),
        ("undefined", b"root ::= nothing", "1:10"),
        ("no root", b'rule ::= "a"', "1:1"),
        ("no end", b"root ::= root", "1:1"),
    ],
)
def test_bad_grammars_are_located(name: str, data: bytes, place: str, tmp_path: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_bytes(data)
    code, _, err = infernix("check", "--grammar-file", grammar, "a")
    assert code == ERROR, name
    assert err.startswith(f"error: {grammar}:{place}"), err


def test_a_bad_schema_names_the_pointer(tmp_path: Path) -> None:
    schema = tmp_path / "s.json"
    schema.write_text('{"properties": {"a": {"type": "strin"}}}')
    code, _, err = infernix("check", "--json-schema-file", schema, "1")
    assert code == ERROR
    assert "/properties/a/type" in err


def test_a_fault_of_the_program_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr("infernix.engine.commands.check._check_bytes", broken)
    code, _, err = infernix("check", "--regex", "a", "a")
    assert code == 70
    assert err == "internal error: IndexError: a bug (INFERNIX_DEBUG=1 shows more)\n"


# --- grammar and schema


def test_grammar_prints_an_equal_grammar_and_statistics(tmp_path: Path) -> None:
    from infernix.gbnf.parser import parse_gbnf

    for source in EXAMPLES.glob("*.gbnf"):
        code, out, err = infernix("grammar", source)
        assert (code, err) == (DONE, ""), source
        assert parse_gbnf(out) == parse_gbnf(source.read_bytes()), source
        assert re.search(r"^# (1 rule|\d+ rules), ", out, re.MULTILINE)
        assert re.search(r"^# compiled: (1 automaton|\d+ automata) ", out, re.MULTILINE)


def test_grammar_warns_of_unreachable_rules(tmp_path: Path) -> None:
    grammar = tmp_path / "g.gbnf"
    grammar.write_text('root ::= "a"\nlonely ::= "b"\n')
    code, _, err = infernix("grammar", grammar)
    assert code == DONE
    assert err.startswith(f"warning: {grammar}:2:1: ")
    assert "lonely" in err


def test_schema_verdicts(tmp_path: Path) -> None:
    schema = tmp_path / "s.json"
    for source, code, word in [
        ({"type": "integer"}, DONE, "supported"),
        ({"$ref": "http://example.com/other.json"}, REJECTED, "unsupported at"),
        ({"enum": []}, REJECTED, "at"),
        ({"type": 5}, REJECTED, "invalid at /type"),
    ]:
        schema.write_text(json.dumps(source))
        found, out, _ = infernix("schema", schema)
        assert found == code, out
        assert word in out


def test_schema_lists_what_has_no_effect(tmp_path: Path) -> None:
    draft_04 = {"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/definitions/a", "maximum": 3}
    cases = [
        ({"maxLenght": 3}, "/maxLenght is not a keyword and has no effect (did you mean maxLength?)"),
        ({"x-order": 3}, "/x-order is not a keyword and has no effect"),
        ({"anyOf": [{"a/b": 1}]}, "/anyOf/0/a~1b is not a keyword and has no effect"),
        ({"properties": {"format": {"format": "datetime"}}},
         "/properties/format/format: no draft has the format 'datetime'; it has no effect (did you mean date-time?)"),
        (draft_04 | {"definitions": {"a": {}}}, "/maximum stands beside a $ref, which hides it: it has no effect"),
    ]  # fmt: skip
    for source, warning in cases:
        code, out, err = infernix("schema", "-", stdin=json.dumps(source).encode())
        assert (code, out, err) == (DONE, "supported\n", f"warning: <stdin>: {warning}\n")


def test_grammar_and_schema_read_standard_input() -> None:
    code, out, err = infernix("grammar", "-", stdin=b'root ::= "a"\nlonely ::= "b"')
    assert (code, out.splitlines()[0]) == (DONE, 'root ::= "a"')
    assert err.startswith("warning: <stdin>:2:1: ")
    code, _, err = infernix("grammar", "-", stdin=b"root ::= nothing")
    assert code == ERROR
    assert err.startswith("error: <stdin>:1:10: ")
    code, out, _ = infernix("schema", "-", "--grammar", "--layout", "compact", stdin=b'{"const": [1, 2]}')
    assert "1, 2" not in out


def test_schema_grammar_is_a_grammar(tmp_path: Path) -> None:
    schema, grammar = tmp_path / "s.json", tmp_path / "g.gbnf"
    schema.write_text('{"type": "array", "items": {"const": 7}, "maxItems": 2}')
    grammar.write_text(infernix("schema", schema, "--grammar")[1])
    assert infernix("check", "--grammar-file", grammar, "[7, 7]")[0] == DONE
    assert infernix("check", "--grammar-file", grammar, "[7, 7, 7]")[0] == REJECTED
    assert json.loads(infernix("schema", schema, "--reduced")[1])


# --- generate


def test_generate_writes_exactly_the_text(model: Path) -> None:
    code, out, err = infernix("generate", "--model", model, "--regex", "[a-f]{3}é!", "--prompt", "hello", "--seed", "4")
    assert code == DONE
    assert re.fullmatch("[a-f]{3}é!", out)
    assert "complete: yes, terminated: yes" in err
    assert re.search(r"\d+ tokens, [\d.]+ tokens/s; first mask [\d.]+ ms, then \d+ us a token \(median", err)


def test_generate_writes_json_in_one_line_unless_told_otherwise(model: Path, tmp_path: Path) -> None:
    schema = tmp_path / "s.json"
    schema.write_text('{"type": "array", "items": {"enum": [7, 8]}, "minItems": 9, "maxItems": 9}')
    arguments = ["generate", "--model", model, "--prompt", "hello", "--json-schema-file", schema, "--temperature", "2"]
    for layout, pattern in (
        ([], r"\[[78](\.0)?(, [78](\.0)?){8}\]"),
        (["--layout", "spaced"], r"\[[78](\.0)?(, [78](\.0)?){8}\]"),
        (["--layout", "compact"], r"\[[78](\.0)?(,[78](\.0)?){8}\]"),
    ):
        _, out, _ = infernix(*arguments, *layout)
        assert re.fullmatch(pattern, out)
    _, out, _ = infernix(*arguments, "--layout", "free")
    assert re.search(r"\s\s|\s,|\[\s", out)


def test_generate_reads_the_prompt_from_standard_input(model: Path) -> None:
    arguments = ["generate", "--model", model, "--regex", "[a-z]{8}", "--greedy"]
    piped = infernix(*arguments, stdin=b"hello")
    given = infernix(*arguments, "--prompt", "hello")
    other = infernix(*arguments, "--prompt", "goodbye")
    assert piped[:2] == given[:2]
    assert given[1] != other[1]
    assert infernix(*arguments, stdin=b"\xff")[0] == ERROR


def test_generate_reports_a_cut_answer(model: Path) -> None:
    code, out, err = infernix(
        "generate", "--model", model, "--regex", "[a-z]{90}", "--prompt", "hello", "--max-new", "3", "--raw"
    )
    assert code == UNFINISHED
    assert 3 <= len(out) < 90
    assert "complete: no, terminated: no; stopped by: length" in err


def test_generate_without_a_constraint_claims_nothing(model: Path) -> None:
    code, _, err = infernix("generate", "--model", model, "--prompt", "hello", "--max-new", "3")
    assert code == DONE
    assert "complete" not in err


@pytest.mark.parametrize(
    ("option", "value"),
    [("--temperature", "3"), ("--top-k", "21"), ("--min-p", "-1"), ("--presence-penalty", "nan"), ("--seed", "-1")],
)
def test_generate_refuses_parameters_out_of_range(option: str, value: str, tmp_path: Path) -> None:
    # The model cannot be opened: the parameters are looked at before that.
    code, out, err = infernix("generate", "--model", tmp_path, "--prompt", "hello", option, value)
    assert (code, out) == (ERROR, "")
    assert err.startswith(f"error: {option} must lie in [")


def test_generate_refuses_an_empty_raw_prompt_before_it_opens_the_model(tmp_path: Path) -> None:
    code, _, err = infernix("generate", "--model", tmp_path, "--raw", stdin=b"")
    assert (code, err) == (ERROR, "error: --raw continues the prompt, which is empty\n")


def test_generate_refuses_a_bad_grammar_before_it_loads_weights(model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "model"
    bare.mkdir()
    for name in ("config.json", "tokenizer.json"):  # no weights
        (bare / name).write_bytes((model / name).read_bytes())
    code, _, err = infernix("generate", "--model", bare, "--regex", "(", "--prompt", "hello")
    assert code == ERROR
    assert "--regex" in err


def test_the_missing_demo_model_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERNIX_CACHE", str(tmp_path))
    code, _, err = infernix("generate", "--prompt", "x")
    assert code == ERROR
    assert "infernix model get smollm2-135m" in err
    assert "not fetched" in infernix("model", "list")[1]


# --- as a process: pipes and signals


def test_a_closed_output_pipe_ends_quietly(model: Path) -> None:
    process = infernix_process(
        "generate", "--model", model, "--regex", "[a-z]{400}", "--prompt", "hello", "--max-new", "400"
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=120) == 141
    assert "stopped by: the reader of the output" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_ctrl_c_ends_quietly_and_says_what_was_written(model: Path) -> None:
    process = infernix_process(
        "generate", "--model", model, "--regex", "[a-z]{1000000}", "--prompt", "hello", "--max-new", "450"
    )
    assert process.stdout is not None
    process.stdout.read(1)  # it has begun, and needs a few hundred milliseconds for the rest
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert b"complete: no, terminated: no; stopped by: interruption" in err
