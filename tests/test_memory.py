"""Keeping memory changes no number, and is left alone where it cannot be asked for."""

from __future__ import annotations

import ctypes
import sys

import pytest

from regard.allocator import keep_memory


def test_it_can_be_asked_for_any_number_of_times() -> None:
    keep_memory()
    keep_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    keep_memory()
    monkeypatch.setattr(ctypes, "CDLL", None)
    monkeypatch.setattr(sys, "platform", "win32")
    keep_memory()
