"""Where the cache folder is."""

import os
import sys
from pathlib import Path

import pytest

from rerank.runtime.cache_folder import cache_folder

NOBODY = 2**31 - 2  # no user has this number


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RERANK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == Path("/somewhere/rerank")
    monkeypatch.setenv("RERANK_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")


@pytest.mark.skipif(os.name != "posix", reason="users have numbers on POSIX alone")
def test_cache_folder_is_below_the_root_when_the_user_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RERANK_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == Path("/.cache/rerank")
