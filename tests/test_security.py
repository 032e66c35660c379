"""What a stranger's model file or recipe cannot do on the machine of whoever tries it. docs/security.md lists these."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.checkpoint import read, store_scores, write
from regard.config import recipes
from regard.config.sections import MOST_MISTAKES
from regard.errors import CheckpointError, ConfigError, DataError, UsageError, visible
from regard.files import below
from regard.tasks.data_folder import with_data_folder
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.evaluation import recipe_test_sets
from regard.tasks.translation.translator import Translator
from tests.commands.calling import call, fail

ROOT = Path(__file__).parent.parent
PAYLOAD = b"import os\tos.abort()\n"
SECRET = "geheim\tsecret\n"


@pytest.fixture
def stranger(tmp_path: Path, tiny_translator: Translator) -> Path:
    """A model file that came by mail."""
    path = tmp_path / "mail" / "evil.safetensors"
    path.parent.mkdir()
    weights = dict(tiny_translator.model.named_parameters())
    save_trained(path, weights, tiny_translator.recipe, TranslationAssets(tiny_translator.tokenizer), {})
    return path


def say(file: Path, **data: Any) -> None:
    """Write settings of [data] into a model file, as only a text editor would."""
    weights, metadata = read(file)
    settings = json.loads(metadata["recipe"])
    settings["data"].update(data)
    write(file, weights, {**metadata, "recipe": json.dumps(settings)})


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_evaluating_a_model_file_writes_nothing(stranger: Path, tmp_path: Path) -> None:
    """The file named its own test set, in Python's folder, and where to fetch it."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "payload").write_bytes(PAYLOAD)
    target = str(tmp_path / "site-packages" / "zz.pth")
    entry = f"{(tmp_path / 'payload').as_uri()} {hashlib.sha256(PAYLOAD).hexdigest()}"
    say(
        stranger,
        test={"news": [target]},
        download={target: entry, "zz.pth": entry},
        folder=str(tmp_path / "site-packages"),
    )
    before = everything(tmp_path)
    said = fail("evaluate", stranger, "--data", tmp_path / "data")
    assert f"no file {tmp_path / 'data' / 'zz.pth'}" in said
    assert "--data DIR" in fail("evaluate", stranger)
    assert everything(tmp_path) == before


def test_a_model_file_brings_no_places(stranger: Path) -> None:
    say(stranger, folder="/etc", prepared="/etc", download={"a.tsv": "https://data.example/a.tsv 0"})
    data = load_trained(stranger).recipe.data
    assert (data.folder, data.prepared, data.download) == ("", "prepared", {})


@pytest.mark.parametrize("name", ["/SECRET", "../secret.tsv", "deep/../../secret.tsv", "link.tsv", "links/secret.tsv"])
def test_a_model_file_reads_only_below_the_folder_that_was_named(stranger: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.tsv").write_text(SECRET)
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "link.tsv").symlink_to(tmp_path / "secret.tsv")
    (data / "links").symlink_to(tmp_path)
    say(stranger, test={"news": [name.replace("/SECRET", str(tmp_path / "secret.tsv"))]})
    said = fail("evaluate", stranger, "--data", data)
    assert "leads out of the data folder" in said or f"no file {data / 'secret.tsv'}" in said


def test_a_model_file_reads_what_lies_below(stranger: Path, tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "x.tsv").write_text(SECRET)
    say(stranger, test={"news": ["deep/x.tsv"]})
    translator = regard.load(stranger)
    (test_set,) = recipe_test_sets(with_data_folder(translator.recipe, str(stranger), tmp_path / "data"))
    assert test_set.sources == ["geheim"]


def test_a_model_file_opens_nothing_by_itself(stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.tsv").write_text(SECRET)
    monkeypatch.chdir(tmp_path)
    say(stranger, test={"news": ["here.tsv"]}, valid=["here.tsv"])
    recipe = regard.load(stranger).recipe
    with pytest.raises(DataError, match="nobody said in which folder"):
        recipe_test_sets(recipe)
    with pytest.raises(UsageError, match="with `data`"):
        with_data_folder(recipe, str(stranger), None)


def test_what_is_written_holds_no_downloads(stranger: Path) -> None:
    assert not json.loads(read(stranger)[1]["recipe"])["data"]["download"]


# Recipes


def recipe_file(folder: Path, data: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "stranger.toml"
    path.write_text(f'[data]\ntrain = ["x.tsv"]\nvalid = ["x.tsv"]\n{data}', encoding="utf-8")
    return path


DOWNLOAD = f'[data.download]\n"x.tsv" = "https://data.example/x.tsv {"0" * 64}"\n'


def test_a_recipe_does_not_choose_where_downloads_go(tmp_path: Path) -> None:
    for folder in (tmp_path / "site-packages", Path("..")):
        path = recipe_file(tmp_path / "mail", f'folder = "{folder}"\n{DOWNLOAD}')
        place = (path.parent / folder).resolve()
        with pytest.raises(ConfigError) as caught:
            recipes.load(path)
        assert f"x.tsv would be downloaded into {place}, which is not below the recipe's folder" in str(caught.value)
        assert f"--data {place}" in str(caught.value)
        with pytest.raises(ConfigError):
            recipes.load(path, ["model.heads=4"])
    assert recipes.load(path, folder=tmp_path).data.folder == str(tmp_path)
    assert recipes.load(path, [f"data.folder={tmp_path}"]).data.folder == str(tmp_path)
    (tmp_path / "x.tsv").write_text("here already")
    assert recipes.load(path).data.folder == str(tmp_path)


def test_a_link_beside_a_recipe_is_no_way_out(tmp_path: Path) -> None:
    path = recipe_file(tmp_path / "mail", f'folder = "data"\n{DOWNLOAD}')
    assert recipes.load(path).data.folder == str(tmp_path / "mail" / "data")
    (tmp_path / "mail" / "data").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="would be downloaded into"):
        recipes.load(path)


def test_a_recipe_does_not_choose_where_text_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (str(tmp_path / "elsewhere"), "../elsewhere"):
        path = recipe_file(tmp_path / "mail", f'prepared = "{place}"\n')
        said = fail("train", path)
        assert "line 4) is neither below the recipe's folder nor below this one" in said
        assert f"--set data.prepared={place}" in said
        assert recipes.load(path, [f"data.prepared={place}"]).data.prepared == place
    for place in ("prepared", str(tmp_path / "mail" / "prepared"), str(tmp_path / "here" / "x")):
        assert recipes.load(recipe_file(tmp_path / "mail", f'prepared = "{place}"\n')).data.prepared == place


def test_a_run_folder_downloads_nothing(tmp_path: Path) -> None:
    """Its recipe may name a folder far away, which `train` was given; what is there is read, and no more is fetched."""
    path = recipe_file(tmp_path / "run", f'folder = "{tmp_path}"\nprepared = "/elsewhere"\n{DOWNLOAD}')
    data = recipes.load(path, finished=True).data
    assert (data.folder, data.download) == (str(tmp_path), {})


def test_a_path_that_no_system_can_hold(tmp_path: Path) -> None:
    long = "x" * 300
    for data in (
        'folder = "a\\u0000"',
        'prepared = "a\\u0000"',
        'test.x = ["a\\u0000"]',
        f'folder = "{long}"',
        f'test.x = ["{"a/" * 3_001}"]',
    ):
        with pytest.raises(ConfigError, match="cannot name a file"):
            recipes.load(recipe_file(tmp_path, data))


def test_below(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "home").symlink_to(tmp_path)
    assert below(tmp_path / "home", "a/b") == tmp_path / "a" / "b"
    for path in ("", ".", "a/..", "..", "../x", "/", "a\0b", f"{tmp_path}-beside/x"):
        with pytest.raises(DataError):
            below(tmp_path, path)


# Names that reach the terminal


EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r\x08"


def test_errors_show_what_a_terminal_would_obey(stranger: Path) -> None:
    weights, metadata = read(stranger)
    write(stranger, {**weights, f"weight{EVIL}": torch.zeros(2)}, metadata)
    answer = call("translate", stranger, "x")
    assert answer.code == 2
    assert "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202egnp\\r\\x08" in answer.err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", answer.err)


def test_what_people_write_stays_as_it_is() -> None:
    text = "größer 한국어 العربية می‌خواهم\n\t“quoted” 👩‍👩‍👧"
    assert visible(text) == text
    assert visible("\ud800") == "\\ud800"


@pytest.mark.parametrize("name", [EVIL, "a\nb", "a\tb", "a\u202eb", "../x", "a/b", "a\0", "", "ü" * 101])
def test_names_of_runs_and_test_sets_are_plain(name: str) -> None:
    with pytest.raises(ConfigError):
        recipes.parse({"data": {"test": {name: ["x.tsv"]}}})
    with pytest.raises(ConfigError):
        recipes.parse({"name": name})


# What a file costs


COST = """
import resource, sys
from regard import load
from regard.errors import CheckpointError
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # MB
paths = sys.argv[1:]
for honest in paths[::2]:
    load(honest)  # all that is imported for it is no cost of the others
for bomb in paths[1::2]:
    before = most()
    try:
        load(bomb)
        said = "loaded"
    except CheckpointError as error:
        said = str(error).replace("\\n", " ")
    print(most() - before, said)
"""
STORED = ROOT / "tests" / "compat" / "files" / "format-1"
BOMBS = {
    "a width": ("translation-transformer", {"width": 20_000, "feed_forward": 20_000}),
    "positions to learn": ("translation-conv", {"max_positions": 2**20}),
    "layers": ("language-model-rnn", {"layers": 1_000}),
    "n-grams": ("classification", {"ngrams": 16, "buckets": 100_000_000}),
    "positions that nothing stores": ("language-model-pointer", {"max_positions": 2**20}),
}


METADATA = {
    "objects": ("provenance", '{"x": [' + "{}," * 3_000_000 + "{}]}", "holds more than 250,000 values"),
    "a long text": ("provenance", '{"x": "' + "y" * 50_000_000 + '"}', "its provenance has 50,000,009 characters"),
    "labels": ("assets", '{"labels": [' + '"x",' * 1_000_000 + '"x"]}', "holds more than 250,000 values"),
    "a long recipe": ("recipe", '{"name": "' + "y" * 2_000_000 + '"}', "its recipe has 2,000,012 characters"),
    "strings to replace": ("recipe", json.dumps({"task": "text-classification", "data": {"replace": {str(each): "" for each in range(20_000)}}}), "data.replace has 20,000 strings"),
    "test sets": ("recipe", json.dumps({"data": {"test": {str(each): ["x"] for each in range(20_000)}}}), "data.test names 20,000 test sets"),
}  # fmt: skip


def test_metadata_costs_little_memory(tmp_path: Path) -> None:
    """Empty objects took sixty times their size."""
    honest = STORED.parent / "format-2" / "classification.safetensors"
    weights, metadata = read(honest)
    words, paths = [sys.executable, "-c", COST], []
    for number, (name, text, _) in enumerate(METADATA.values()):
        paths.append(tmp_path / f"{number}.safetensors")
        write(paths[-1], weights, {**metadata, name: text})
        words += [str(honest), str(paths[-1])]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    for bomb, path, line in zip(METADATA, paths, done.stdout.splitlines(), strict=True):
        cost, _, said = line.partition(" ")
        assert int(cost) < 60 + 4 * path.stat().st_size / 2**20, f"{bomb}: {line}"
        assert METADATA[bomb][2] in said, f"{bomb}: {line}"


def test_a_small_file_costs_little_memory(tmp_path: Path) -> None:
    """Sizes that its recipe tells and its tensors do not have: some were gigabytes before anybody looked at the tensors."""
    words = [sys.executable, "-c", COST]
    for number, (name, sizes) in enumerate(BOMBS.values()):
        weights, metadata = read(STORED / f"{name}.safetensors")
        settings = json.loads(metadata["recipe"])
        settings["model"].update(sizes)
        path = tmp_path / f"{number}.safetensors"
        write(path, weights, {**metadata, "recipe": json.dumps(settings)})
        assert path.stat().st_size < 60_000
        words += [str(STORED / f"{name}.safetensors"), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    for bomb, line in zip(BOMBS, done.stdout.splitlines(), strict=True):
        cost, _, said = line.partition(" ")
        assert int(cost) < 100, f"{bomb}: {line}"
        fine = bomb == "positions that nothing stores"
        assert said == "loaded" if fine else "does not fit its own recipe" in said, f"{bomb}: {line}"


def test_a_stored_beam_is_bounded(stranger: Path) -> None:
    weights, metadata = read(stranger)
    settings = json.loads(metadata["recipe"])
    settings["decoding"]["beam"] = 101
    write(stranger, weights, {**metadata, "recipe": json.dumps(settings)})
    with pytest.raises(CheckpointError, match=r"decoding\.beam must be at most 100, not 101"):
        regard.load(stranger)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.complex64, torch.float8_e4m3fn])
def test_weights_are_floating_point_numbers(stranger: Path, dtype: torch.dtype) -> None:
    weights, metadata = read(stranger)
    name = "encoder.0.feed_forward.widen.weight"
    write(stranger, {**weights, name: torch.zeros(weights[name].shape, dtype=dtype)}, metadata)
    told = rf"{re.escape(name)} holds {str(dtype).removeprefix('torch.')} instead of floating-point numbers"
    with pytest.raises(CheckpointError, match=told):
        regard.load(stranger)


DEEP = 100_000


@pytest.mark.parametrize("key", ["recipe", "assets", "provenance"])
def test_metadata_that_nests_without_end(stranger: Path, key: str) -> None:
    weights, metadata = read(stranger)
    write(stranger, weights, {**metadata, key: '{"x": ' + "[" * DEEP + "]" * DEEP + "}"})
    with pytest.raises(CheckpointError, match="not a model of regard"):
        regard.load(stranger)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * DEEP + "]" * DEEP,
        "[model]\nwidth = " + "{a = " * DEEP + "1" + "}" * DEEP,
        "[model]\nwidth." + ".".join(["a"] * 2_000) + " = 1",
        "task." + ".".join(["a"] * 2_000) + " = 1",
    ],
)
def test_a_recipe_that_nests_without_end(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="too deep to be a recipe"):
        recipes.load(path)


def test_a_value_that_nests_without_end(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^--set model\.width nests lists or tables too deep to be a recipe$"):
        recipes.load(path, ["model.width=" + "[" * DEEP + "]" * DEEP])


@pytest.mark.parametrize("format", ["0", "-1", " 2", "2.5", "99", "²", "+2", "true", ""])
def test_formats_that_nobody_wrote(stranger: Path, format: str) -> None:
    weights, metadata = read(stranger)
    write(stranger, weights, {**metadata, "format": format})
    with pytest.raises(CheckpointError):
        regard.load(stranger)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_are_finite(stranger: Path, number: float, dtype: torch.dtype) -> None:
    weights, metadata = read(stranger)
    name = "encoder.0.feed_forward.widen.weight"
    odd = weights[name].clone().to(dtype)
    odd[3, 2] = number
    write(stranger, {**weights, name: odd}, metadata)
    with pytest.raises(CheckpointError, match=f"{re.escape(name)} holds what is no number"):
        regard.load(stranger)


def test_half_a_surrogate_pair_in_a_model_file(stranger: Path) -> None:
    """JSON can hold it, but no file that is written afterwards."""
    weights, metadata = read(stranger)
    write(stranger, weights, {**metadata, "provenance": '{"versions": {"regard": "\\ud800"}}'})
    store_scores(stranger, {"news": []})
    assert regard.load(stranger).provenance == {"versions": {"regard": "?"}, "scores": {"news": []}}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.bool, torch.float32, torch.float8_e4m3fn])
def test_a_lexicon_holds_whole_numbers(dtype: torch.dtype, tmp_path: Path) -> None:
    weights, metadata = read(STORED.parent / "format-2" / "translation-transformer.safetensors")
    names = [name for name in weights if "lexicon" in name]
    assert names
    odd = {name: weights[name].to(dtype) for name in names}
    write(tmp_path / "odd.safetensors", {**weights, **odd}, metadata)
    with pytest.raises(CheckpointError, match="its lexicon does not fit its tokenizer"):
        regard.load(tmp_path / "odd.safetensors")


# What a recipe costs


MANY = {
    "dotted keys": "\n".join(f"a{number}.b = 1" for number in range(60_000)),
    "keys of a section": "[model]\n" + "\n".join(f"a{number} = 1" for number in range(60_000)),
    "sections": "\n".join(f"[a{number}]" for number in range(60_000)),
    "a long key": "a" * 900_000 + " = 1",
    "a long value": f'name = "{"x" * 900_000}"',
    "what is wrong together": 'task = "text-generation"\n[model]\ncutoffs = [' + "1, " * 200_000 + "]",
    "a long path": f'[data]\ntrain = ["{"x" * 900_000}"]',
    "a long list": "[model]\nwidth = [" + "1, " * 200_000 + "]",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", MANY)
def test_a_recipe_of_a_thousand_mistakes_is_refused_briefly(tmp_path: Path, what: str) -> None:
    """The message was as long as the file, and each line of it took a search through the whole."""
    path = tmp_path / "many.toml"
    path.write_text(MANY[what], encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        recipes.load(path)
    assert len(str(caught.value)) < 5_000
    assert len(caught.value.mistakes) <= MOST_MISTAKES + 1


def test_a_recipe_is_no_larger_than_people_write(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text("#" * recipes.LARGEST, encoding="utf-8")
    recipes.load(path)
    path.write_text("#" * (recipes.LARGEST + 1), encoding="utf-8")
    with pytest.raises(ConfigError, match="too large for a recipe, which has at most 1,000,000 bytes"):
        recipes.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are others there")
def test_a_recipe_is_a_file(tmp_path: Path) -> None:
    """A pipe would be waited for, a device read for ever."""
    (tmp_path / "folder.toml").mkdir()
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    for name, told in (("folder", "a folder"), ("pipe", "a FIFO"), ("zero", "a device")):
        with pytest.raises(ConfigError, match=f"it is {told}"):
            recipes.load(tmp_path / f"{name}.toml")


def test_a_recipe_may_begin_with_a_mark_and_end_its_lines_as_windows_does(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf[model]\r\nwidth = 6\r\nheads = 2\r\n")
    assert recipes.load(path).model.width == 6


def test_tables_that_nest_without_end_or_have_other_keys() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    for odd in (deep, {"model": deep}, {1: 2}, {"model": {1: 2}}, {None: {}}):
        with pytest.raises(ConfigError):
            recipes.read(odd)


def test_a_model_that_cannot_be_in_memory_is_refused_before_it_is_built(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tb\n")
    path = recipe_file(tmp_path, "[model]\nwidth = 65536\nheads = 8\nencoder_layers = 100\nfeed_forward = 65536")
    said = fail("train", path, "--dry-run")
    assert re.search(r"would have [\d,]+ parameters, which take [\d,.]+ GB .* but this machine has [\d,.]+ GB", said)
    assert said == fail("train", path, "--run", tmp_path / "run")
    tables = {"data": {"train": "x.tsv", "valid": "x.tsv"}, "model": {"width": 65_536, "encoder_layers": 100}}
    with pytest.raises(ConfigError, match="but this machine has"):
        regard.train(tables, data=tmp_path, run=tmp_path / "run", show=False)


SMALL = "[tokenizer]\nvocabulary = 300\n[model]\nsize = 'tiny'\nwidth = 8\nfeed_forward = 8\n"


def test_what_is_hardly_meant_is_said_by_a_dry_run(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a\tb\n")
    path = recipe_file(tmp_path, f"{SMALL}[training]\nbatch_tokens = 100000000\nwarmup = 10\nupdates = 10")
    said = call("train", path, "--dry-run").out
    assert "training.warmup = 10 is not below training.updates = 10" in said
    assert "data.valid names a file of data.train" in said
    assert "parts of 100,000,000 tokens would take about" in said
    assert "sound" not in said


# The list itself


def test_every_row_of_the_threat_table_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page[page.index("## Threats") :]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for threat, instead, proof in rows:
        assert threat.strip()
        assert instead.strip()
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", proof)
        assert named, threat
        for file, test in named:
            assert re.search(rf"\bdef {test}\(", (ROOT / file).read_text(encoding="utf-8")), f"{file} has no {test}"


UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


RUNS_LESSONS = {ROOT / "regard" / "learn" / "executing.py"}  # the code of the lessons, which come with the package


def test_no_code_is_made_of_what_is_read() -> None:
    """Nor is anything unpickled: that runs what the data says. Processes are sent things by multiprocessing alone."""
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        for path in sorted((ROOT / "regard").rglob("*.py"))
        if path not in RUNS_LESSONS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if unsafe(node)
    ]
    assert not found


def unsafe(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(each.name.split(".")[0] in UNSAFE for each in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in UNSAFE or any("Pickler" in each.name for each in node.names)
    if isinstance(node, ast.Name):  # by itself too: handed on, it is called elsewhere
        return node.id in {"eval", "exec", "__import__"}
    if isinstance(node, ast.Attribute) and "Pickler" in node.attr:
        return True
    if not isinstance(node, ast.Call):
        return False
    called, options = ast.unparse(node.func), {each.arg: each.value for each in node.keywords}
    unpickling = options.get("allow_pickle", options.get("weights_only"))
    if called in {"torch.load", "np.load", "numpy.load", "pd.read_pickle"}:
        safe = called == "torch.load"
        return not (isinstance(unpickling, ast.Constant) and unpickling.value is safe)
    return called in {"compile", "torch.jit.load", "torch.package.PackageImporter"}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from marshal import loads", "from multiprocessing.reduction import ForkingPickler",
        "torch.load(path)", "torch.load(path, weights_only=False)", "torch.load(path, weights_only=unsafe)",
        "np.load(path, allow_pickle=True)", "eval(text)", "map(exec, texts)", "reduction.ForkingPickler.loads(data)",
    ],
)  # fmt: skip
def test_what_counts_as_unsafe(line: str) -> None:
    assert any(map(unsafe, ast.walk(ast.parse(line))))


@pytest.mark.parametrize("line", ["torch.load(path, weights_only=True)", "model.eval()", "re.compile(text)"])
def test_what_counts_as_safe(line: str) -> None:
    assert not any(map(unsafe, ast.walk(ast.parse(line))))
