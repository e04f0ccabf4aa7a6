"""The tiny collection with a model, and a real server of it in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rerank
from tests.indexed import collection, index, other_index  # noqa: F401
from tests.plugins.conftest import calibrated_file, model_file  # noqa: F401

if TYPE_CHECKING:
    from rerank.service.settings import Settings
    from tests.service.server import Running


@pytest.fixture(scope="session")
def settings(index: rerank.Index, model_file: Path) -> Settings:  # noqa: F811
    from rerank.service.settings import Settings
    from tests.service.server import LIMITS

    return Settings(index.path, model_file, limits=LIMITS, threads=2)


@pytest.fixture(scope="session")
def server(settings: Settings) -> Iterator[Running]:
    from tests.service.server import running

    with running(settings) as started:
        yield started
