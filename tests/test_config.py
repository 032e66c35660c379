"""Recipes: what is read, what is refused and in which words, and that nothing is lost on the way out and back."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some

from regard import config
from regard.config import TASKS, Recipe, TranslationRecipe, recipes, synonyms
from regard.config.field import Bounds, bounds_of, free_settings
from regard.config.recipes import load, parse, require_data
from regard.errors import ConfigError

ROOT = Path(__file__).parent.parent
RECIPES = [*sorted((ROOT / "recipes").rglob("*.toml")), ROOT / "regard" / "bundled" / "quickstart.toml"]
TRANSFORMER = TASKS["translation"].architectures["transformer"]
SECTIONS = {**TASKS["translation"].sections, "model": TRANSFORMER.settings}
DOCUMENTED = {
    "[tokenizer]": SECTIONS["tokenizer"],
    **{
        f"[{section}], {title}": kind
        for task in TASKS
        for section, title, kind in (
            ("data", task, TASKS[task].sections["data"]),
            *(("model", f"{task}, {name}", each.settings) for name, each in TASKS[task].architectures.items()),
            ("training", task, TASKS[task].sections["training"]),
        )
    },
    "[decoding], translation": SECTIONS["decoding"],
}
SETTINGS_INTRO = (
    "Every setting of a recipe, made from the sentences in `regard/config/`: "
    '`python -c "from tests.test_config import write_settings; write_settings()"`.'
)

BOUNDS: dict[str, Bounds] = {
    f"{section}.{each.name}": bounds_of(each) for section, kind in SECTIONS.items() for each in fields(kind)
}
NUMBERS = {
    f"{section}.{key}": kind
    for section, settings_of in SECTIONS.items()
    for key, kind in get_type_hints(settings_of).items()
    if kind in (int, float)
}
CHOICES = {
    f"{section}.{each.name}": (task, getattr(kind(), "architecture", ""), bounds_of(each).choices)
    for heading, kind in DOCUMENTED.items()
    for section, task in [
        (heading[1 : heading.index("]")], heading.split(", ")[1] if "," in heading else "translation")
    ]
    for each in fields(kind)
    if bounds_of(each).choices
}
Read = Callable[..., Recipe]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Load a recipe from its text, with overrides."""

    def from_text(text: str = "", *overrides: str) -> Recipe:
        path = tmp_path / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        return load(path, overrides)

    return from_text


def mistakes(call: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        call()
    assert str(caught.value) == "\n".join(caught.value.mistakes)
    return caught.value.mistakes


def documentation(kind: type) -> dict[str, str]:
    """The sentence below each field of a section, read from the source so that it exists only once."""
    above = {
        key: text
        for base in reversed(kind.__bases__)
        if base is not object
        for key, text in documentation(base).items()
    }
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    return above | {
        statement.target.id: " ".join(str(following.value.value).split())
        for statement, following in zip(body.body, body.body[1:], strict=False)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if statement.target.id in {each.name for each in fields(kind)}
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
    }


def settings_page() -> str:
    """The text of docs/settings.md: every setting, from the sentence that stands below it in regard/config."""
    parts = ["# Settings", SETTINGS_INTRO]
    for heading, kind in DOCUMENTED.items():
        sentences, default = documentation(kind), kind()
        rows = ["| setting | default | meaning |", "|---|---|---|"]
        for key in sentences:
            shown = getattr(default, key)
            shown = json.dumps(list(shown) if isinstance(shown, tuple) else shown)
            rows.append(f"| `{key}` | `{shown}` | {sentences[key]} |")
        parts += [f"## {heading}", (kind.__doc__ or "").strip(), "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def write_settings() -> None:
    (ROOT / "docs" / "settings.md").write_text(settings_page(), encoding="utf-8")


# What is wrong, where, and what to do


def test_unknown_setting_names_its_line_and_a_neighbour(read: Read, tmp_path: Path) -> None:
    (mistake,) = mistakes(lambda: read('name = "x"\n\n[training]\nupdates = 5\n\n[model]\nhead = 4\n'))
    expected = f"unknown setting 'model.head' ({tmp_path / 'recipe.toml'}, line 7). Did you mean 'model.heads'?"
    assert mistake == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[model]\n# head = 1\n  head = 4\n", 3),
        ("[ model ]  # spaced\n'head' = 4\n", 2),
        ('[training]\nupdates = 3\n[model]\n\n"head"=4\n', 5),
        ("modle = 3\n", 1),
        ("\n[modle]\nheads = 4\n", 2),
        ("model.head = 4\n", 1),
        ("[training]\nupdates = 3\n[[model.head]]\n", 3),
        ("[data]\n\ntest.news = 3\n", 3),
    ],
)
def test_the_line_is_found_however_it_is_written(read: Read, text: str, line: int) -> None:
    (mistake,) = mistakes(lambda: read(text))
    assert f"line {line})" in mistake


def test_a_key_of_another_section_is_not_mistaken_for_it(read: Read) -> None:
    (mistake,) = mistakes(lambda: read("[decoding]\nmax_ratio = 2.0\n[data]\nmax_ratio = 0.5\n"))
    assert "data.max_ratio must be at least 1, not 0.5" in mistake
    assert "line 4)" in mistake


@pytest.mark.parametrize(
    ("section", "setting", "wanted"),
    [
        ("model", 'heads = "four"', "model.heads must be a whole number, not 'four'"),
        ("model", "heads = 4.0", "model.heads must be a whole number, not 4.0"),
        ("model", "heads = true", "model.heads must be a whole number, not True"),
        ("model", "tied = 1", "model.tied must be true or false, not 1"),
        ("model", 'dropout = "0.1"', "model.dropout must be a number, not '0.1'"),
        ("model", "norm = 3", "model.norm must be a text in quotes, not 3"),
        ("training", "clip = true", "training.clip must be a number, not True"),
        ("training", "betas = [0.9]", "training.betas must be a list of 2 values, not [0.9]"),
        ("training", 'betas = [0.9, "x"]', "training.betas must be a number, not [0.9, 'x']"),
        ("data", "train = 3", "data.train must be a list, not 3"),
        ("data", 'train = ["a", 3]', "data.train must be a text in quotes, not ['a', 3]"),
        ("data", 'test = ["a"]', "data.test must be a table, not ['a']"),
        ("data.test", "a = 3", "data.test must be a list, not {'a': 3}"),
    ],
)
def test_wrong_types(read: Read, section: str, setting: str, wanted: str) -> None:
    (mistake,) = mistakes(lambda: read(f"[{section}]\n{setting}\n"))
    assert mistake.startswith(wanted)
    assert "line " in mistake


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_lists_what_there_is(read: Read, name: str) -> None:
    section, key = name.split(".")
    task, architecture, choices = CHOICES[name]
    near = choices[0] + "x"
    chosen = f'architecture = "{architecture}"\n' if section == "model" else ""
    (mistake,) = mistakes(lambda: read(f'task = "{task}"\n[{section}]\n{chosen}{key} = "{near}"\n'))
    assert mistake.startswith(f"{name} must be one of {', '.join(choices)}, not {near!r}")
    assert "Did you mean" in mistake


@pytest.mark.parametrize("name", NUMBERS)
def test_lower_bounds_are_kept(read: Read, name: str) -> None:
    section, key = name.split(".")
    (mistake,) = mistakes(lambda: read(f"[{section}]\n{key} = -1\n"))
    assert mistake.startswith(f"{name} must be at least {BOUNDS[name].least}, not -1")


@pytest.mark.parametrize("name", [name for name, bounds in BOUNDS.items() if bounds.most is not None])
def test_upper_bounds_are_kept(read: Read, name: str) -> None:
    section, key = name.split(".")
    most = BOUNDS[name].most
    assert most is not None
    (mistake,) = mistakes(lambda: read(f"[{section}]\n{key} = {most + 1}\n"))
    assert mistake.startswith(f"{name} must be at most {most:,}, not ")


@pytest.mark.parametrize("name", [name for name, kind in NUMBERS.items() if kind is float])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "9" * 400])
def test_numbers_are_finite(read: Read, name: str, value: str) -> None:
    section, key = name.split(".")
    (mistake,) = mistakes(lambda: read(f"[{section}]\n{key} = {value}\n"))
    assert mistake.startswith(f"{name} must be a finite number, not ")


@pytest.mark.parametrize(
    ("betas", "wanted"),
    [
        ("[0.9, 1.0]", "below 1, not [0.9, 1.0]"),
        ("[1.5, 1.5]", "below 1, not [1.5, 1.5]"),
        ("[-0.1, 0.9]", "at least 0, not [-0.1, 0.9]"),
        ("[0.9, nan]", "a finite number, not [0.9, nan]"),
    ],
)
def test_betas_stay_between_zero_and_one(read: Read, betas: str, wanted: str) -> None:
    (mistake,) = mistakes(lambda: read(f"[training]\nbetas = {betas}\n"))
    assert mistake.startswith(f"training.betas must be {wanted}")


@pytest.mark.parametrize(
    "name", ["3", "true", "['a']", "''", "'.'", "'..'", "'a/b'", "'/a'", "'..\\\\a'", '"a\\u0000"']
)
def test_a_name_that_cannot_be_a_folders(read: Read, name: str) -> None:
    (mistake,) = mistakes(lambda: read("[model]\n\n[training]\n", f"name={name}"))
    assert mistake.startswith("name must be a text in quotes that can name a folder, not ")
    (mistake,) = mistakes(lambda: read(f"\nname = {name}\n"))
    assert mistake.endswith("recipe.toml, line 2)")


@pytest.mark.parametrize("name", ["a b", "...", "한국어", ".hidden", "base-2.1_x"])
def test_a_name_that_can(read: Read, name: str) -> None:
    assert read(f"name = '{name}'").name == name


@pytest.mark.parametrize("name", [name for name in NUMBERS if BOUNDS[name].below == 1])
def test_shares_stay_below_one(read: Read, name: str) -> None:
    section, key = name.split(".")
    (mistake,) = mistakes(lambda: read(f"[{section}]\n{key} = 1\n"))
    assert mistake.startswith(f"{name} must be below 1, not 1")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('architecture = "rnn-attention"\nwidth = 33', "model.width = 33 must be even"),
        ('architecture = "conv"\nkernel = 4', "model.kernel = 4 must be odd"),
        ('architecture = "rnn"\nheads = 4', "unknown setting 'model.heads'"),
        ('architecture = "rrn"', "unknown architecture 'rrn'"),
        ('architecture = "conv"\nsize = "big"', "model.size must be one of tiny, small, base, not 'big'"),
    ],
)
def test_each_architecture_has_its_own_settings(read: Read, text: str, wanted: str) -> None:
    (mistake,) = mistakes(lambda: read(f"[model]\n{text}\n"))
    assert mistake.startswith(wanted)


@pytest.mark.parametrize(
    ("task", "name"), [(task, name) for task, each in TASKS.items() for name in each.architectures]
)
def test_every_architecture_is_read_and_written(read: Read, task: str, name: str) -> None:
    recipe = read(f'task = "{task}"\n[model]\narchitecture = "{name}"\nsize = "tiny"\n')
    architecture = TASKS[task].architectures[name]
    assert isinstance(recipe, TASKS[task].recipe)
    assert isinstance(recipe.model, architecture.settings)
    assert recipe.model.width == architecture.sizes["tiny"]["width"]
    assert parse(recipes.to_dict(recipe)) == recipe


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_its_own_metrics(read: Read, task: str) -> None:
    for metric in TASKS[task].metrics:
        assert read(f'task = "{task}"\n[training]\nmetric = "{metric}"\n').training.metric == metric
    (mistake,) = mistakes(lambda: read(f'task = "{task}"\n[training]\nmetric = "lossy"\n'))
    assert (
        mistake == f"training.metric must be one of {', '.join(TASKS[task].metrics)}, not 'lossy'. Did you mean 'loss'?"
    )


def test_words_need_no_bytes_but_cannot_translate(read: Read) -> None:
    classify = 'task = "text-classification"\n[tokenizer]\nkind = "words"\npieces = {}\n'
    assert read(classify.format(0)).tokenizer.vocabulary == 0
    assert mistakes(lambda: read(classify.format(4))) == ("tokenizer.vocabulary must be at least 5, not 4",)
    assert mistakes(lambda: read("[tokenizer]\npieces = 259\n")) == (
        "tokenizer.vocabulary must be at least 260, not 259",
    )
    (mistake,) = mistakes(lambda: read('[tokenizer]\nkind = "words"\n'))
    assert "cannot translate" in mistake


def test_the_vocabulary_is_cut_from_frequent_to_rare(read: Read) -> None:
    (mistake,) = mistakes(lambda: read('task = "text-generation"\n[model]\ncutoffs = [200, 100]\n'))
    assert mistake == "model.cutoffs = [200, 100] must rise"
    (mistake,) = mistakes(lambda: read('task = "text-generation"\n[model]\nadaptive_factor = 4\n'))
    assert mistake == "model.adaptive_factor = 4 needs model.cutoffs: it narrows the words after each"
    cut = 'task = "text-generation"\n[model]\nwidth = 64\ncutoffs = [10, 20, 30, 40]\nadaptive_factor = 4\n'
    (mistake,) = mistakes(lambda: read(cut))
    assert mistake == "model.adaptive_factor = 4 leaves nothing of model.width = 64 after 4 cuts"


def test_all_mistakes_come_at_once(read: Read) -> None:
    text = 'colour = 1\n[model]\nhead = 4\nnorm = "past"\n[training]\nupdates = "x"\nlabel_smoothing = 1.5\n'
    found = "\n".join(mistakes(lambda: read(text, "nonsense", "data.source_column=0")))
    for part in (
        "'colour'",
        "'model.head'",
        "model.norm",
        "training.updates",
        "label_smoothing",
        "nonsense",
        "source_column",
    ):
        assert part in found
    assert found.count("\n") == 6


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('task = "translat"', "unknown task 'translat'"),
        ("task = ['translate']", "unknown task ['translate']"),
        ("[model]\narchitecture = 'transfomer'", "unknown architecture 'transfomer'"),
        ("[model]\narchitecture = ['transformer']", "unknown architecture ['transformer']"),
        ("[model]\nsize = 'huge'", "model.size must be one of tiny, small, base, big, not 'huge'"),
        ("[model]\nsize = ['tiny']", "model.size must be one of tiny, small, base, big, not ['tiny']"),
        ("model = 3", "'model' must be a section [model]"),
        ("[[training]]\nupdates = 3", "'training' must be a section [training]"),
    ],
)
def test_what_decides_the_shape_of_a_recipe_is_reported_once(read: Read, text: str, wanted: str) -> None:
    (mistake,) = mistakes(lambda: read(text))
    assert mistake.startswith(wanted)


def test_a_file_that_is_no_recipe(read: Read, tmp_path: Path) -> None:
    assert "is not valid TOML" in mistakes(lambda: read("[model\n"))[0]
    assert "line 2" in mistakes(lambda: read("[model]\nheads = \n"))[0]
    assert f"no recipe at {tmp_path / 'recipe.tml'}. Did you mean" in mistakes(lambda: load(tmp_path / "recipe.tml"))[0]
    assert "cannot read the recipe" in mistakes(lambda: load(tmp_path))[0]
    (tmp_path / "latin.toml").write_bytes(b'name = "gr\xfc\xdfe"')
    assert "cannot read the recipe" in mistakes(lambda: load(tmp_path / "latin.toml"))[0]


# Combinations


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[model]\nwidth = 512\nheads = 7", "model.heads = 7 does not divide model.width = 512; 8 would"),
        ("[model]\nwidth = 9\nheads = 3", "model.width = 9 must be even"),
        ("[tokenizer]\njoint = false", "model.tied = true needs tokenizer.joint = true"),
        (
            'task = "text-generation"\n[model]\npointer = true\n[training]\nword_dropout = 0.1',
            "model.pointer = true needs training.word_dropout = 0: it can point only at what it reads",
        ),
        (
            'task = "text-classification"\n[training]\nnaive_bayes = true',
            "training.naive_bayes is about n-grams: set model.ngrams",
        ),
        (
            'task = "text-classification"\n[training]\npatience = 3\nmasked_epochs = 1',
            "training.patience needs training.masked_epochs = 0",
        ),
        ('task = "image-classification"\n[training]\nprobes = 1', "unknown setting 'training.probes'"),
        (
            'task = "text-classification"\n[data]\ntrain = ["a"]\ntext = "2"',
            "data.text = '2', data.label = '2': these must be different columns",
        ),
        ("[data]\nmax_tokens = 2000", "data.max_tokens = 2000 needs model.max_positions of at least 2001"),
        ("[data]\ntrain = ['a', 'b', 'c']", "data.train names 3 files"),
        ("[data.test]\nnews = ['a', 'b', 'c']", "data.test.news names 3 files"),
        ("[data.test]\nnews = []", "data.test.news names 0 files"),
        ("[data]\ntrain = ['a', 'b', 'c']\n[data.test]\ntrain = ['a']", "data.train names 3 files"),
        ("[data]\nvalid = ['a']\n[data.test]\nvalid = ['a', 'b', 'c']", "data.test.valid names 3 files"),
        ("[data.test]\n'a/b' = ['a']", "data.test.a/b: 'a/b' cannot name a file"),
        ("[data]\ntrain = ['a']\nsource_column = 2", "data.source_column = 2, data.target_column = 2: these must be"),
        (
            "[data]\nvalid = ['a']\nsplit_column = 2",
            "data.source_column = 1, data.target_column = 2, data.split_column = 2",
        ),
        ("[training]\nbatch_tokens = 2\naccumulate = 3", "training.accumulate cannot exceed training.batch_tokens"),
    ],
)
def test_impossible_combinations(read: Read, text: str, wanted: str) -> None:
    (mistake,) = mistakes(lambda: read(text))
    assert mistake.startswith(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "[model]\nwidth = 512\nheads = 8",
        "[model]\nwidth = 9\nheads = 3\npositions = 'learned'",
        "[tokenizer]\njoint = false\n[model]\ntied = false",
        "[data]\nmax_tokens = 2000\n[model]\nmax_positions = 2001",
        "[data]\ntrain = ['a', 'b']",
        "[data]\ntrain = ['a', 'b']\nsource_column = 2",
        "[data]\ntrain = ['a']\n[data.test]\ntrain = ['a']",
        "[data]\ntrain = ['a']\nsplit_column = 3\n[data.test]\nvalid = ['a']",
    ],
)
def test_their_possible_neighbours(read: Read, text: str) -> None:
    assert isinstance(read(text), Recipe)


# The size dial


@pytest.mark.parametrize("size", TRANSFORMER.sizes)
def test_a_size_stands_for_its_numbers(read: Read, size: str) -> None:
    model = read(f'[model]\nsize = "{size}"\n').model
    assert {key: getattr(model, key) for key in TRANSFORMER.sizes[size]} == TRANSFORMER.sizes[size]
    assert model.size == size


def test_a_stated_number_wins_over_the_size(read: Read) -> None:
    tiny = TRANSFORMER.sizes["tiny"]
    model = read('[model]\nheads = 2\nsize = "tiny"\n').model
    assert (model.heads, model.width, model.dropout) == (2, tiny["width"], tiny["dropout"])
    assert read('[model]\nsize = "tiny"\n', "model.heads=8").model.heads == 8
    assert read("[model]\nheads = 2\n", "model.size=tiny").model.heads == 2


def test_base_is_the_default(read: Read) -> None:
    assert read().model == read('[model]\nsize = "base"\n').model == config.Transformer()


# Overrides


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("model.heads=4", 4),
        (" model.heads = 4", 4),
        ("training.updates=1_000", 1000),
        ("training.learning_rate=1e-3", 1e-3),
        ("training.clip=1", 1.0),
        ("training.compile=true", True),
        ("training.schedule=cosine", "cosine"),
        ('training.schedule="cosine"', "cosine"),
        ("training.betas=[0.8, 0.9]", (0.8, 0.9)),
        ("data.train=corpus.tsv", ("corpus.tsv",)),
        ('data.train=["a.de", "a.en"]', ("a.de", "a.en")),
        ("data.train=a=b.tsv", ("a=b.tsv",)),
        ('data.test.news=["a.tsv"]', {"news": ("a.tsv",)}),
    ],
)
def test_overrides(read: Read, override: str, value: Any) -> None:
    section, key = override.partition("=")[0].strip().split(".")[:2]
    found = getattr(getattr(read("", override), section), key)
    assert found == value
    assert type(found) is type(value)


def test_overrides_win_and_the_last_wins_most(read: Read) -> None:
    text = "[training]\nupdates = 1\nwarmup = 7\n"
    assert read(text, "training.updates=2", "training.updates=3").training.updates == 3
    assert read(text, "training.updates=2").training.warmup == 7
    assert read(text, "name=other").name == "other"


@pytest.mark.parametrize("override", ["model.heads", "=4", ".heads=4", "model.=4", "", "model..heads=4"])
def test_an_override_of_bad_form_says_the_good_one(read: Read, override: str) -> None:
    (mistake,) = mistakes(lambda: read("", override))
    assert mistake == f"cannot read --set {override!r}: write section.key=value, such as model.heads=4"


@pytest.mark.parametrize(
    ("override", "wanted"),
    [
        ("model.head=4", "unknown setting 'model.head' (--set model.head=4). Did you mean 'model.heads'?"),
        ("trainin.updates=3", "unknown setting 'trainin' (--set trainin.updates=3). Did you mean 'training'?"),
        ("model.heads=four", "model.heads must be a whole number, not 'four' (--set model.heads=four)"),
        ("model.size=huge", "model.size must be one of tiny, small, base, big, not 'huge' (--set model.size=huge)"),
        ("data.test.news=3", "data.test must be a list, not {'news': 3} (--set data.test.news=3)"),
        ("model=3", "'model' must be a section [model] (--set model=3)"),
        ("name.x=1", "--set name.x=1: 'name' is not a section"),
    ],
)
def test_an_override_is_checked_like_the_file(read: Read, override: str, wanted: str) -> None:
    assert mistakes(lambda: read("", override)) == (wanted,)


def test_a_mistake_cites_the_override_rather_than_the_line_it_replaces(read: Read) -> None:
    text = "[model]\nheads = 8\nlayer = 3\n"
    (first, second) = mistakes(lambda: read(text, "model.heads=x", "model.heads = y"))
    assert first.endswith("not 'y' (--set model.heads = y)")
    assert "recipe.toml, line 3)" in second
    assert mistakes(lambda: read("[model]\nheads = 'x'\n", "model.width=64"))[0].endswith("line 2)")


# Where the data is


def test_the_name_is_that_of_the_file_unless_it_is_stated(read: Read) -> None:
    assert read().name == "recipe"
    assert read('name = "other"').name == "other"


def test_the_folder_asked_for_wins_over_the_stated_one_and_the_recipes_own(tmp_path: Path) -> None:
    path, stated, asked = tmp_path / "recipe.toml", tmp_path / "stated", tmp_path / "asked"
    asked.mkdir()
    path.write_text("", encoding="utf-8")
    assert Path(load(path).data.folder) == tmp_path.resolve()
    path.write_text(f"[data]\nfolder = '{stated}'\n", encoding="utf-8")
    assert Path(load(path).data.folder) == stated.resolve()
    assert Path(load(path, folder=asked).data.folder) == asked.resolve()
    path.write_text("[data]\nfolder = 'near/../beside'\n", encoding="utf-8")
    assert Path(load(path).data.folder) == (tmp_path / "beside").resolve()
    assert mistakes(lambda: load(path, folder=tmp_path / "none"))[0].startswith(f"no folder {tmp_path / 'none'}")


def test_training_needs_text(read: Read) -> None:
    assert [each.split(" is")[0] for each in mistakes(lambda: require_data(read()))] == ["data.train", "data.valid"]
    (mistake,) = mistakes(lambda: require_data(read("[data]\ntrain = ['a.tsv']\n")))
    assert mistake.startswith("data.valid is not set; name one TSV")
    require_data(read("[data]\ntrain = ['a.tsv']\nvalid = ['a.tsv']\n"))
    assert parse(recipes.to_dict(TranslationRecipe())) == TranslationRecipe()  # what is stored may lack it


# Out and back


def change(recipe: Recipe, text: str, number: float) -> Recipe:
    name = "x" + "".join(letter for letter in text if letter.isprintable() and letter not in "/\\")
    text = text.replace("\0", "")  # no path can hold it
    data = replace(recipe.data, train=(text, text + "x"), test={name: (text,)}, download={text: text})
    training = replace(recipe.training, clip=number, betas=(number / (number + 1) / 2, 0.5))
    return replace(recipe, name=name, data=data, training=training)


@settings(max_examples=50, deadline=None)
@given(
    some.text(some.characters(codec="utf-8"), max_size=8),
    some.floats(min_value=0, allow_nan=False, allow_infinity=False),
)
def test_dictionaries_lead_back(text: str, number: float) -> None:
    recipe = change(TranslationRecipe(), text, number)
    assert parse(recipes.to_dict(recipe)) == recipe


@settings(max_examples=50, deadline=None)
@example("\x7f", 0.5)
@example('a.b "c" \\', 1e-9)
@given(
    some.text(some.characters(codec="utf-8"), max_size=8),
    some.floats(min_value=0, allow_nan=False, allow_infinity=False),
)
def test_toml_leads_back(tmp_path_factory: pytest.TempPathFactory, text: str, number: float) -> None:
    folder = tmp_path_factory.getbasetemp()
    recipe = change(TranslationRecipe(), text, number)
    recipe = replace(recipe, data=replace(recipe.data, folder=str(folder.resolve())))
    path = folder / "round-trip.toml"
    path.write_text(recipes.to_toml(recipe), encoding="utf-8", newline="\n")
    assert load(path) == recipe


def test_what_is_saved_states_every_setting(read: Read) -> None:
    stored = recipes.to_dict(read('[model]\nsize = "tiny"\n'))
    for section, kind in SECTIONS.items():
        assert stored[section].keys() == {field.name for field in fields(kind)}


def test_parse_names_where_it_read() -> None:
    assert mistakes(lambda: parse({"model": {"head": 4}})) == (
        "unknown setting 'model.head' (settings). Did you mean 'model.heads'?",
    )
    assert "(x.safetensors)" in mistakes(lambda: parse({"model": {"head": 4}}, "x.safetensors"))[0]


# What is shipped


def test_there_are_recipes() -> None:
    assert {path.stem for path in RECIPES} >= {
        "quickstart",
        "tiny",
        "multi30k-en-de",
        "tatoeba-de-en",
        "wmt14-en-de-base",
    }


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_loads_and_opens_with_what_it_is(path: Path) -> None:
    recipe = load(path)
    assert recipe.name == path.stem
    require_data(recipe)
    assert recipe.data.tests
    opening = "\n".join(takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()))
    command = "regard quickstart" if path.stem == "quickstart" else f"regard train {path.relative_to(ROOT)}"
    for part in (command, "Expected", "Data:", "Licence:"):
        assert part in opening
    for name, entry in recipe.data.download.items():
        address, checksum = entry.split(" ")
        assert address.startswith("https://")
        assert address.endswith(f"/{Path(name).name}")
        assert len(bytes.fromhex(checksum)) == 32


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_can_fetch_all_its_files_or_none(path: Path) -> None:
    data = load(path).data
    named = {*data.train, *data.valid, *(file for files in data.test.values() for file in files)}
    assert not data.download or data.download.keys() == named


@pytest.mark.parametrize("section", DOCUMENTED)
def test_every_setting_has_a_sentence(section: str) -> None:
    sentences = documentation(DOCUMENTED[section])
    assert sentences.keys() == {field.name for field in fields(DOCUMENTED[section])}
    for key, sentence in sentences.items():
        assert sentence.rstrip().endswith((".", "…")), f"{section}.{key}"
        assert "|" not in sentence, f"{section}.{key}: a bar would break the table"


def test_what_may_change_when_a_run_goes_on() -> None:
    assert free_settings(config.ParallelText) == {"test", "folder", "download", "prepared"}
    assert free_settings(config.Decoding) == {each.name for each in fields(config.Decoding)}
    assert {"updates", "minutes", "device", "probes"} < free_settings(config.TranslationTraining)
    assert not {"seed", "batch_tokens", "clip", "metric", "average"} & free_settings(config.TranslationTraining)
    assert not free_settings(config.Transformer) | free_settings(config.Tokenizer)


def test_the_settings_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page == settings_page(), "make it anew: its first lines say how"


@pytest.mark.parametrize(
    ("task", "setting", "told"),
    [
        ("translation", "model.d_ff=512", "model.feed_forward is meant: the width of the hidden layer"),
        ("translation", "model.d_model=512", "model.width is meant"),
        ("translation", "model.hidden_size=512", "model.width is meant"),
        ("translation", "model.N=6", "model.encoder_layers and model.decoder_layers are meant"),
        ("text-classification", "model.num_layers=6", "model.layers is meant"),
        ("text-generation", "model.nHead=6", "model.heads is meant"),
        ("translation", "model.intermediate_size=6", "model.feed_forward is meant"),
        ("translation", "model.max_len=6", "model.max_positions is meant"),
        ("translation", "data.max_len=6", "data.max_tokens is meant"),
        ("translation", "model.eps=6", "model.norm_epsilon is meant"),
        ("translation", "training.eps=6", "training.epsilon is meant: Adam's"),
        ("translation", "training.lr=6", "training.learning_rate is meant"),
        ("translation", "lr=6", "training.learning_rate is meant"),
        ("translation", "training.batch_size=64", "training.batch_tokens is meant: it counts tokens and not sentences"),
        ("translation", "training.epochs=6", "training.updates is meant: it counts updates and not passes"),
        ("translation", "training.optimizer=adam", "There is one optimizer, AdamW"),
        ("translation", "tokenizer.vocab_size=6", "tokenizer.vocabulary is meant"),
        ("translation", "decoding.num_beams=6", "decoding.beam is meant"),
        ("translation", "model.learning_rate=6", "training.learning_rate is meant: it stands in [training]"),
        ("translation", "optimizer.lr=6", "[training] is meant"),
        ("translation", "model.num_atention_heads=6", "model.heads is meant"),  # misspelt besides
        ("translation", "model.temperature=2", "is an option of the verb"),
        ("translation", "model.rope=true", "model.positions is meant"),
        ("translation", "tokenizer.min_freq=2", "tokenizer.vocabulary is meant"),
        ("text-classification", "model.num_labels=3", "Labels are those of the training text"),
        ("text-classification", "data.text_column=3", "data.text is meant: the column of the text"),
        ("text-classification", "model.bidirectional=true", '"rnn-attention" does'),
        ("text-classification", "model.kernel_size=3", 'model.architecture = "conv"'),
        ("text-classification", "model.cell=gru", 'model.architecture = "rnn"'),
        ("text-generation", "data.bptt=35", "data.max_tokens is meant"),
        ("text-classification", "model.score=dot", 'transformer has none; model.architecture = "rnn-attention" has it'),
        ("translation", "model.encoder_embed_dim=64", "model.width is meant"),  # fairseq
        ("translation", "training.accum_count=2", "training.accumulate is meant"),  # OpenNMT
        ("translation", "model.input_feed=1", 'model.architecture = "rnn-attention"'),
        ("translation", "model.dff=64", "model.feed_forward is meant"),  # TensorFlow's tutorial
        ("translation", "model.keep_prob=0.9", "the other way round: model.dropout"),
        ("translation", "training.average_decay=0.9", "training.ema is meant"),
        ("translation", "training.학습률=0.1", "training.learning_rate is meant"),
        ("translation", "training.teacher_forcing_ratio=0.5", "always reads the reference"),
        ("text-generation", "model.adaptive_softmax_cutoff=5", "model.cutoffs is meant"),
        ("text-generation", "model.div_val=4", "model.adaptive_factor is meant"),
        ("image-classification", "model.img_size=32", "data.size is meant"),
        ("image-classification", "model.drop_path_rate=0.1", "model.stochastic_depth is meant"),
    ],
)
def test_the_field_s_names_are_explained(task: str, setting: str, told: str) -> None:
    (mistake,) = mistakes(lambda: recipes.read({"task": task}, [setting]))
    assert mistake.startswith(f"unknown setting '{setting.partition('=')[0].removesuffix('.lr')}")
    assert told in mistake


def test_every_explanation_leads_to_a_setting() -> None:
    """Of some task and architecture."""
    ours = {
        f"{section}.{each.name}"
        for row in TASKS.values()
        for architecture in row.architectures.values()
        for section, kind in {**row.sections, "model": architecture.settings}.items()
        for each in fields(kind)
    }
    meant = {name for meaning in synonyms._MEANINGS for name in meaning.settings}
    assert meant <= ours


def test_a_size_s_name_goes_with_its_numbers() -> None:
    assert recipes.shape_name(recipes.parse({})) == "transformer base"
    assert recipes.shape_name(recipes.parse({"model": {"size": "tiny", "norm": "pre"}})) == "transformer tiny"
    assert recipes.shape_name(recipes.parse({"model": {"width": 64, "heads": 4}})) == "transformer of width 64, heads 4"
    assert recipes.shape_name(recipes.parse({"model": {"architecture": "conv"}})) == "conv base"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ("norm=last", "model.norm must be one of post, pre, none"),
        ("positions=rotary", "model.positions must be one of sinusoidal, learned, none"),
        ("activation=tanh", "model.activation must be one of relu, gelu, swish"),
        ("residual=0", "model.residual must be true or false"),
        ("norm_epsilon=0", "model.norm_epsilon must be at least 1e-12"),
        ("feed_forward=-1", "model.feed_forward must be at least 0"),
    ],
)
def test_parts_are_taken_out_by_their_names(changes: str, told: str) -> None:
    for task, row in TASKS.items():
        if not issubclass(next(iter(row.architectures.values())).settings, config.AttentionModel):
            continue  # no stack of attention layers, no such parts
        assert told in mistakes(lambda task=task: recipes.read({"task": task}, [f"model.{changes}"]))[0]  # type: ignore[misc]
