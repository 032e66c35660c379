"""Fetching what a recipe's `data.download` names: over https, below the data folder, checked before it takes its place.

A recipe may be a stranger's, so that it may neither choose where a file lands nor what kind of file that is.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from rich.console import Console

from regard.data.progress import progress
from regard.errors import DataError, RegardError, visible
from regard.files import below, replacing
from regard.notes import is_quiet

LARGEST = 10 * 10**9
"""Bytes of one download; whatever is larger is to be fetched by hand."""
ENDINGS = (".tsv", ".csv", ".jsonl", ".txt", ".gz", ".xz")
"""What a download may be called: nothing that another program would run."""
SPARE = 10**8  # bytes that a download leaves free on the disk
PATIENCE = 2  # seconds without a progress bar
BLOCK = 1 << 18  # bytes


class OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to another https address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        require_https(newurl, f"{req.full_url} leads to {newurl}, which")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def https_opener(https: urllib.request.BaseHandler | None = None) -> urllib.request.OpenerDirector:
    """Opens https and nothing else; Python's own would also open file:, ftp: and data:."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        https or urllib.request.HTTPSHandler(),
        OnlyHttps(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def require_https(url: str, what: str) -> None:
    """Refuse every other scheme, and an address without a host."""
    try:
        parts = urllib.parse.urlsplit(url)
        fine = parts.scheme.lower() == "https" and bool(parts.hostname)
    except ValueError:
        fine = False
    if not fine:
        raise DataError(f"{what} is no https address; nothing was downloaded")


def download(entry: str, folder: Path, name: str, opener: urllib.request.OpenerDirector | None = None) -> Path:
    """Fetch `"URL sha256"` to `name` below the folder; it takes its place once the checksum agrees."""
    url, _, checksum = entry.partition(" ")
    checksum = checksum.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", checksum):
        raise DataError(f'data.download for {name} must read "URL sha256", not {entry!r}')
    require_https(url, f"data.download for {name}: {url}")
    target = place_for(folder, name)
    with ExitStack() as stack:
        try:
            answer = stack.enter_context((opener or https_opener()).open(url, timeout=60))
            length = size_of(answer)
        except RegardError:  # of a redirection that is refused
            raise
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise DataError(f"cannot download {url}: {error}") from None
        require_https(answer.geturl(), f"{url} leads to {answer.geturl()}, which")
        if length is not None and length > LARGEST:
            raise too_large(url)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            require_space(length or 0, target)
            size = "of unknown size" if length is None else f"{length:,} bytes"
            say(f"regard: downloading {url} ({size}) to {target}")
            with replacing(target) as temporary:
                with temporary.open("wb") as file:
                    found = write(blocks(answer, url, length), file, f"Downloading {name}", length)
                if found != checksum:
                    raise DataError(f"{url} has sha256 {found}, but the recipe expects {checksum}; nothing was kept")
        except OSError as error:
            raise DataError(
                f"cannot write {target}, to which {url} would be downloaded: {error.strerror}."
                " Choose a folder that can be written with `data`"
            ) from None
    return target


def place_for(folder: Path, name: str) -> Path:
    """Where a download lands: below the folder, links followed, and as a text that nothing would execute."""
    hidden = [part for part in Path(name).parts if part.startswith(".")]
    odd = re.search(r"[:\n\t]", name) or visible(name) != name  # on Windows, x.exe:a.txt is a part of x.exe
    if hidden or odd or not name.lower().endswith(ENDINGS):
        raise DataError(
            f"data.download may not write {name!r}: it fetches files with plain names that end in {', '.join(ENDINGS)}, into"
            " no hidden folder"
        )
    return below(folder, name)


def size_of(answer: Any) -> int | None:
    """What the server says, if it does."""
    length = answer.headers.get("Content-Length")
    if length is not None and not re.fullmatch(r"[0-9]{1,18}", length.strip()):
        raise ValueError(f"it claims a length of {length!r}")
    return None if length is None else int(length)


def require_space(length: int, target: Path) -> None:
    """Before an hour of downloading rather than after it."""
    free = shutil.disk_usage(target.parent).free
    if length + SPARE > free:
        raise DataError(
            f"{target} needs {length:,} bytes and {SPARE:,} to spare, but only {free:,} are free;"
            " make room, or choose another disk with `data`"
        )


def too_large(url: str) -> DataError:
    return DataError(f"{url} is larger than {LARGEST:,} bytes; fetch it yourself, and put it where the recipe looks")


def blocks(answer: Any, url: str, length: int | None) -> Iterator[bytes]:
    """What the server sends, as long as it is what it promised, and no more than is allowed."""
    total = 0
    while True:
        try:
            block: bytes = answer.read(BLOCK)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise DataError(f"cannot download {url}: {error}") from None
        total += len(block)
        if total > LARGEST:
            raise too_large(url)
        if length is not None and (total > length or (not block and total < length)):
            more = f"more than {length:,}" if total > length else f"{total:,} of {length:,}"
            raise DataError(f"cannot download {url}: it sent {more} bytes; nothing was kept")
        if not block:
            return
        yield block


def write(content: Iterator[bytes], file: IO[bytes], title: str, length: int | None) -> str:
    """Write the blocks, with a progress bar if it takes long, and return their sha256."""
    digest, begun, total = hashlib.sha256(), time.monotonic(), 0
    with ExitStack() as stack:
        bar = None
        for block in content:
            file.write(block)
            digest.update(block)
            total += len(block)
            if bar is None and time.monotonic() - begun > PATIENCE:
                bar = stack.enter_context(progress())
                task = bar.add_task(visible(title), total=length)
            if bar is not None:
                bar.update(task, completed=total)
    return digest.hexdigest()


def say(text: str) -> None:
    Console(stderr=True, quiet=is_quiet()).print(visible(text), highlight=False, markup=False, soft_wrap=True)
