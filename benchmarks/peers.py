"""The peers that regard is measured against: pinned packages, each peer in a virtual environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TORCH = "torch==2.13.0"
PACKAGES = {
    "huggingface": [TORCH, "transformers==5.22.2", "numpy"],
    "joeynmt": [TORCH, "joeynmt==2.3.0", "importlib_metadata"],  # which it imports without asking for it
    "eole": [TORCH, "eole==0.6.4"],
    "marian": ["pymarian==1.12.42", "numpy"],
    "ctranslate2": ["ctranslate2==4.8.4", "numpy"],
}
LAST_LINES = 12  # of what a peer said before it failed


class PeerError(Exception):
    """A peer that cannot be installed or run; the others go on."""


def environment(peer: str, folder: Path) -> Path:
    """The Python of a peer's environment, made and filled in `folder` unless it is there with the same packages."""
    place, wanted = folder.resolve() / peer, "\n".join(PACKAGES[peer])
    python, mark = place / "bin" / "python", place / "installed.txt"
    if not mark.is_file() or mark.read_text() != wanted:
        print(f"{peer}: installing {', '.join(PACKAGES[peer])} into {place}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(place)])
        run([str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *PACKAGES[peer]])
        mark.write_text(wanted)
    return python


def packages_folder(python: Path) -> Path:
    """Where the environment of a Python keeps its packages."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(run([str(python), "-c", asked]).strip())


def run(command: list[str], **options: object) -> str:
    """What a command printed; when it fails, what it said last is the error."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", **options)  # type: ignore[call-overload]
    if done.returncode:
        raise PeerError(
            f"exit code {done.returncode} of {' '.join(command)[:200]}\n{last_lines(done.stderr or done.stdout)}"
        )
    return str(done.stdout)


def last_lines(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LAST_LINES:])
