"""Downloads: over https only, below the data folder only, and only what the recipe's checksum names.

A stand-in answers for the network, in the place of urllib's handler of https; one test goes through TLS on this machine.
"""

from __future__ import annotations

import email.message
import hashlib
import http.server
import io
import shutil
import ssl
import subprocess
import threading
import urllib.request
import urllib.response
from pathlib import Path

import pytest

from regard.config import ParallelText, TranslationRecipe
from regard.data import download
from regard.data.corpus import locate, read_pairs
from regard.errors import DataError
from regard.tasks.registry import prepare

CONTENT = b"ein Hund\ta dog\n"
SUM = hashlib.sha256(CONTENT).hexdigest()
URL = "https://data.example/deep/local.tsv"


class Web(urllib.request.BaseHandler):
    """What each address answers: a status, headers and a body; whatever is asked is written down."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {URL: (200, {}, CONTENT)}
        self.asked: list[str] = []

    def https_open(self, request: urllib.request.Request) -> urllib.response.addinfourl:
        self.asked.append(request.full_url)
        if request.full_url not in self.answers:
            raise OSError("no such host")
        code, headers, body = self.answers[request.full_url]
        message = email.message.Message()
        for name, value in headers.items():
            message[name] = value
        answer = urllib.response.addinfourl(io.BytesIO(body), message, request.full_url, code)
        answer.msg = "as asked"  # type: ignore[attr-defined]
        return answer


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    web, opener = Web(), download.https_opener
    monkeypatch.setattr(download, "https_opener", lambda: opener(web))
    return web


def data(folder: Path, entry: str = f"{URL} {SUM}", name: str = "deep/local.tsv") -> ParallelText:
    (folder / "data").mkdir(exist_ok=True)
    return ParallelText(folder=str(folder / "data"), download={name: entry})


def left(folder: Path) -> list[str]:
    """Every file below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_missing_file_is_fetched_once(tmp_path: Path, web: Web) -> None:
    web.answers[URL] = (200, {"Content-Length": str(len(CONTENT))}, CONTENT)
    found = locate("deep/local.tsv", data(tmp_path))
    assert found.read_bytes() == CONTENT
    assert list(read_pairs(("deep/local.tsv",), data(tmp_path), "train")) == [("ein Hund", "a dog")]
    assert web.asked == [URL]


def test_what_will_come_from_where_is_said_before(tmp_path: Path, web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    web.answers[URL] = (200, {"Content-Length": "1234567"}, CONTENT)
    with pytest.raises(DataError, match=r"it sent 15 of 1,234,567 bytes"):
        locate("deep/local.tsv", data(tmp_path))
    place = tmp_path / "data" / "deep" / "local.tsv"
    assert capsys.readouterr().err == f"regard: downloading {URL} (1,234,567 bytes) to {place}\n"
    assert left(tmp_path) == []


def test_other_content_is_refused_and_nothing_stays(tmp_path: Path, web: Web) -> None:
    with pytest.raises(DataError, match=r"has sha256 .* but the recipe expects 000"):
        locate("deep/local.tsv", data(tmp_path, f"{URL} {'0' * 64}"))
    assert left(tmp_path) == []


def test_a_failing_address_is_named(tmp_path: Path, web: Web) -> None:
    web.answers.clear()
    with pytest.raises(DataError, match=r"cannot download https://data\.example/deep/local\.tsv: .*no such host"):
        locate("deep/local.tsv", data(tmp_path))
    web.answers[URL] = (404, {}, b"nothing here")
    with pytest.raises(DataError, match=r"cannot download .*404"):
        locate("deep/local.tsv", data(tmp_path))
    assert left(tmp_path) == []


@pytest.mark.parametrize("checksum", ["", "0" * 63, "g" * 64, f"{SUM} {SUM}"])
def test_an_entry_without_a_checksum_is_refused(tmp_path: Path, web: Web, checksum: str) -> None:
    with pytest.raises(DataError, match=r'must read "URL sha256"'):
        locate("deep/local.tsv", data(tmp_path, f"{URL} {checksum}"))
    assert web.asked == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, web: Web) -> None:
    settings = data(tmp_path)
    (tmp_path / "data" / "deep").write_text("a file where a folder should be")
    with pytest.raises(DataError, match=r"cannot write .*local\.tsv"):
        locate("deep/local.tsv", settings)


@pytest.mark.parametrize("scheme", ["file", "http", "ftp", "data", "HTTPX", ""])
def test_nothing_but_https(tmp_path: Path, web: Web, scheme: str) -> None:
    payload = tmp_path / "payload"
    payload.write_bytes(CONTENT)
    url = {"file": payload.as_uri(), "data": "data:text/plain,ein%20Hund%09a%20dog%0A", "": "data.example/x"}
    with pytest.raises(DataError, match=r"is no https address"):
        locate("deep/local.tsv", data(tmp_path, f"{url.get(scheme, f'{scheme}://data.example/x')} {SUM}"))
    assert left(tmp_path / "data") == []
    assert web.asked == []


def test_an_address_without_a_host_is_none(tmp_path: Path, web: Web) -> None:
    with pytest.raises(DataError, match=r"is no https address"):
        locate("deep/local.tsv", data(tmp_path, f"https:///etc/passwd {SUM}"))


@pytest.mark.parametrize("code", [301, 302, 303, 307])
@pytest.mark.parametrize("to", ["http://data.example/x", "ftp://data.example/x", "file:///etc/hostname", "data:,x"])
def test_no_redirect_leads_out_of_https(tmp_path: Path, web: Web, code: int, to: str) -> None:
    web.answers[URL] = (code, {"Location": to}, b"")
    with pytest.raises(DataError, match=r"is no https address|is not allowed"):
        locate("deep/local.tsv", data(tmp_path))
    assert web.asked == [URL]
    assert left(tmp_path) == []


def test_a_redirect_within_https_is_followed(tmp_path: Path, web: Web) -> None:
    web.answers[URL] = (302, {"Location": "https://mirror.example/x"}, b"")
    web.answers["https://mirror.example/x"] = (200, {}, CONTENT)
    assert locate("deep/local.tsv", data(tmp_path)).read_bytes() == CONTENT


def test_python_opens_no_other_scheme_even_if_asked() -> None:
    for url in ("file:///etc/hostname", "data:,x", "ftp://data.example/x", "http://data.example/x"):
        with pytest.raises(OSError, match="unknown url type"):
            download.https_opener().open(url)


@pytest.mark.parametrize("length", [None, str(len(CONTENT))])
def test_no_more_than_the_limit(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch, length: str | None) -> None:
    """Whether the server says so or just goes on sending."""
    monkeypatch.setattr(download, "LARGEST", len(CONTENT) - 1)
    web.answers[URL] = (200, {"Content-Length": length} if length else {}, CONTENT)
    with pytest.raises(DataError, match=r"larger than 14 bytes"):
        locate("deep/local.tsv", data(tmp_path))
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("3", "sent more than 3 bytes"),
        ("99", "sent 15 of 99 bytes"),
        ("-1", "claims a length"),
        ("1e9", "claims a length"),
    ],
)
def test_a_server_keeps_to_the_length_it_promised(tmp_path: Path, web: Web, length: str, said: str) -> None:
    web.answers[URL] = (200, {"Content-Length": length}, CONTENT)
    with pytest.raises(DataError, match=said):
        locate("deep/local.tsv", data(tmp_path))
    assert left(tmp_path) == []


def test_a_disk_without_room_is_told_of_before(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "SPARE", shutil.disk_usage(tmp_path).total)
    with pytest.raises(DataError, match=r"but only .* are free"):
        locate("deep/local.tsv", data(tmp_path))
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["../out.tsv", "deep/../../out.tsv", "/ABSOLUTE/out.tsv", "..", "link/out.tsv", "dangling.tsv"]
)
def test_a_download_stays_below_its_folder(tmp_path: Path, web: Web, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    settings = data(tmp_path, name=(name := name.replace("/ABSOLUTE", str(outside))))
    (tmp_path / "data" / "link").symlink_to(outside)
    (tmp_path / "data" / "dangling.tsv").symlink_to(outside / "new.tsv")
    with pytest.raises(DataError, match=r"leads out of the data folder|may not write"):
        locate(name, settings)
    assert left(tmp_path) == []
    assert web.asked == []


@pytest.mark.parametrize(
    "name",
    [
        "zz.pth",
        "sitecustomize.py",
        "conftest.py",
        "Makefile",
        ".bashrc",
        ".config/autostart/x.txt",
        "a/.git/x.gz",
        "x.desktop",
        "x.exe:a.txt",
        "a\nb.txt",
        "\x1b[2J.txt",
        "txt.\u202evst.txt",
    ],
)
def test_a_download_is_nothing_that_would_run(tmp_path: Path, web: Web, name: str) -> None:
    """The data folder may be a home folder, or one from which Python imports."""
    with pytest.raises(DataError, match=r"may not write"):
        locate(name, data(tmp_path, name=name))
    assert left(tmp_path) == []


def test_a_link_within_the_folder_is_fine(tmp_path: Path, web: Web) -> None:
    settings = data(tmp_path, name="link/x.tsv")
    (tmp_path / "data" / "real").mkdir()
    (tmp_path / "data" / "link").symlink_to("real")
    assert locate("link/x.tsv", settings).read_bytes() == CONTENT
    assert (tmp_path / "data" / "real" / "x.tsv").read_bytes() == CONTENT


def test_a_bar_shows_what_takes_long(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[object] = []
    shown = download.progress
    monkeypatch.setattr(download, "progress", lambda: bars.append(1) or shown())
    locate("deep/local.tsv", data(tmp_path))
    assert bars == []
    monkeypatch.setattr(download, "PATIENCE", -1)
    locate("other.tsv", data(tmp_path, name="other.tsv"))
    assert bars == [1]


def test_training_fetches_the_test_sets_too(tmp_path: Path, web: Web) -> None:
    """Later, `evaluate` downloads nothing."""
    settings = ParallelText(
        folder=str(tmp_path), prepared=str(tmp_path / "prepared"), train=("train.tsv",), valid=("train.tsv",),
        test={"news": ("deep/local.tsv",)}, download={"deep/local.tsv": f"{URL} {SUM}"},
    )  # fmt: skip
    (tmp_path / "train.tsv").write_bytes(CONTENT)
    with pytest.raises(DataError, match=r"tokenizer\.vocabulary"):  # so little text; but first come the files
        prepare(TranslationRecipe(data=settings), show=False)
    assert (tmp_path / "deep" / "local.tsv").read_bytes() == CONTENT


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *arguments: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    entry = f"https://localhost:{server.server_port}/x.tsv {SUM}"
    try:
        with pytest.raises(DataError, match=r"cannot download .*CERTIFICATE_VERIFY_FAILED"):
            download.download(entry, tmp_path, "x.tsv")
        trusting = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(certificate)))
        found = download.download(entry, tmp_path, "x.tsv", download.https_opener(trusting))
        assert found.read_bytes() == CONTENT
    finally:
        server.shutdown()
        server.server_close()
