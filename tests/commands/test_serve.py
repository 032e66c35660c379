"""`regard serve`: what is refused before a port is opened; tests/serve asks the rest of it."""

from __future__ import annotations

import pytest

from tests.commands.calling import fail


def test_mistakes() -> None:
    pytest.importorskip("uvicorn")
    assert "no limit is called 'character'. Did you mean 'characters'?" in fail(
        "serve", "demo", "--limit", "character=3"
    )
    assert "cannot listen on nowhere.invalid" in (said := fail("serve", "demo", "--host", "nowhere.invalid"))
    assert "Choose another with --host or --port" in said
