"""What a study file may say, and how its mistakes are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.errors import InputError, UsageError
from headscope.studies.catalogue import built_in, find_study, template
from headscope.studies.matrix import expanded
from headscope.studies.places import line_of
from headscope.studies.plan import make_plan
from headscope.studies.reading import StudyFile, Wishes, model_names, read_study

Read = Callable[..., StudyFile]


def test_a_sound_file_is_read(read: Read) -> None:
    file = read()
    assert list(file.document.steps) == ["look", "roles"]
    assert file.document.show[0].published is not None


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("version = 1", "version = 2", 2, "version = 1"),
        ("version = 1", "", None, "no version"),
        ('title = "A planted model"', "title = 3", 4, "title: 3 .int."),
        ('title = "A planted model"', 'titel = "x"', 4, "titel.*did you mean 'title'"),
        ("[corpora.texts]\n", "[corpora.texts]\nsampel = 3\n", 10, "sampel.*did you mean 'sample'"),
        ("[corpora.texts]\n", "[corpora.texts]\nsample = 0\n", 10, "greater than or equal to 1"),
        ("[corpora.texts]\n", '[corpora.texts]\nsample = "3"\n', 10, "integer"),
        ("version = 1", "version = ", 2, "expected TOML"),
        ("[scale.small.limits]", "[scale.small.limit]", 41, "limits, matrix"),
    ],
)
def test_mistakes_are_told_with_their_line(
    read: Read, old: str, new: str, line: int | None, words: str
) -> None:
    wishes = Wishes(scale="small") if "scale" in old else None
    with pytest.raises(InputError) as caught:
        read((old, new), wishes=wishes)
    assert caught.value.line == line
    assert re.search(words, str(caught.value)), str(caught.value)
    assert caught.value.path == "study.toml"


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ('do = "analyze"', 'do = "analyse"', "do", "the step 'analyse'.*one of ablate, analyze"),
        ('do = "analyze"', "", "do", "no do"),
        ('["surface", "entropy", "sieve"]', '["surfac"]', "measures", "did you mean 'surface'"),
        ('model = "main"', 'model = "other"', "model", "the model 'other'.*main"),
        ('corpus = "texts"', 'corpus = "text"', "corpus", "the corpus 'text'.*texts"),
        ('run = "look"', 'run = "lok"', "run", "the step 'lok'.*look"),
        ("tau = 2.0", 'tau = "two"', "tau", "two"),
        ('figures = ["surface_by_layer"]', 'figures = ["surfaces"]', "figures", "surfaces"),
        ('claim = "neighbour_heads"', 'claim = "nobody"', "claim", "the claim 'nobody'"),
        ("group by target", "group by offset by", "sql", "Parser Error"),
        ('files = ["texts.txt"]', 'files = ["text.txt"]', "files", "text.txt.*does not exist"),
        ('files = ["texts.txt"]', 'task = "SST-2"\ndata = "glue"', "data", "glue.*does not exist"),
        ('files = ["texts.txt"]', 'task = "SST-3"', "task", "SST-3"),
        ("shard_size = 2", "set.surface.nothing = 2", "set", "nothing"),
        ("shard_size = 2", "set.parser.possessive = true", "set", "not among those asked"),
    ],
)
def test_what_cannot_work_is_refused_at_its_field(
    read: Read, data_folder: Path, old: str, new: str, field: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(read((old, new)), data_folder)
    told = str(caught.value)
    assert re.search(words, told), told
    assert f".{field}:" in told, told
    assert caught.value.line is not None


def test_a_cycle_is_refused(read: Read, data_folder: Path) -> None:
    text = """
[finetunings.a]
model = "b"
task = "SST-2"

[finetunings.b]
model = "a"
task = "SST-2"

[steps.look]"""
    with pytest.raises(InputError, match=r"a cycle: (a → b → a|b → a → b)"):
        make_plan(read(("[steps.look]", text)), data_folder)


def test_a_step_that_needs_itself_is_refused(read: Read, data_folder: Path) -> None:
    more = '[steps.both]\ndo = "compare"\nruns = ["look", "both"]\n\n[steps.look]'
    with pytest.raises(InputError, match="a cycle: both → both"):
        make_plan(read(("[steps.look]", more)), data_folder)


def test_two_steps_that_would_replace_each_other_are_refused(read: Read, data_folder: Path) -> None:
    more = '[steps.again]\ndo = "roles"\nrun = "look"\n\n[[show]]'
    with pytest.raises(InputError, match="a second roles of 'look'"):
        make_plan(read(("[[show]]", more)), data_folder)


def test_without_a_data_folder_the_message_says_how_to_give_one(read: Read) -> None:
    with pytest.raises(InputError, match="--data DIR, or the variable HEADSCOPE_DATA"):
        make_plan(read(), None)


def test_a_model_that_is_not_there_is_refused_at_its_line(read: Read, data_folder: Path) -> None:
    file = read(wishes=Wishes())
    changed = read_study("study.toml", re.sub('main = ".*"', 'main = "/no/model"', file.text))
    with pytest.raises(InputError, match=r"study.toml:7: found models.main: /no/model: no such"):
        make_plan(changed, data_folder)


def test_steps_can_be_left_out_with_what_needs_them(read: Read, data_folder: Path) -> None:
    more = '[steps.other]\ndo = "analyze"\nmodel = "main"\ncorpus = "texts"\nmeasures = ["surface"]'
    file = read(("[[show]]", f"{more}\n\n[[show]]"), wishes=Wishes(without=("look",)))
    plan = make_plan(file, data_folder)
    assert [one.name for one in plan.steps] == ["other"]
    assert plan.left_out == {"look": "left out with --without", "roles": "it needs look"}
    with pytest.raises(UsageError, match="no such step"):
        read(wishes=Wishes(without=("nothing",)))


def test_a_scale_lowers_and_never_raises(read: Read, data_folder: Path) -> None:
    plan = make_plan(read(wishes=Wishes(scale="small")), data_folder)
    assert plan.room.corpus("texts").scan().n_sequences == 4
    small = read(
        ("[corpora.texts]\n", "[corpora.texts]\nsample = 2\n"), wishes=Wishes(scale="small")
    )
    assert make_plan(small, data_folder).room.corpus("texts").scan().n_sequences == 2
    with pytest.raises(UsageError, match=r"--scale huge: study\.toml knows full, small"):
        read(wishes=Wishes(scale="huge"))


def test_fingerprints_change_with_what_they_depend_on(read: Read, data_folder: Path) -> None:
    def prints(file: StudyFile) -> dict[str, str]:
        return {one.name: one.fingerprint for one in make_plan(file, data_folder).steps}

    before = prints(read())
    assert prints(read()) == before
    other = prints(read(("tau = 2.0", "tau = 4.0")))
    assert other["look"] == before["look"]
    assert other["roles"] != before["roles"]
    measures = prints(read(('["surface", "entropy", "sieve"]', '["surface", "sieve"]')))
    assert measures["look"] != before["look"]
    assert measures["roles"] != before["roles"]
    file = data_folder / "texts.txt"
    file.write_text(file.read_text() + "the cat saw a dog .\n")
    assert prints(read())["look"] != before["look"]


def test_names_in_braces_are_written_out() -> None:
    document = {
        "finetunings": {"{model}-{task}": {"task": "{task}", "model": "{model}"}},
        "steps": {"look": {"runs": ["{model}-{task}"], "sql": "select {x}"}},
        "show": [{"steps": ["a_{task}"]}],
    }
    found = expanded(document, {"task": ["A", "B"], "model": ["m"]})
    assert found["finetunings"]["m-B"] == {"task": "B", "model": "m", "label": "m B"}
    assert found["steps"]["look"] == {"runs": ["m-A", "m-B"], "sql": "select {x}"}
    assert found["show"] == [{"steps": ["a_A", "a_B"]}]


def test_a_name_in_braces_outside_a_list_is_refused() -> None:
    text = 'version = 1\nname = "a"\ntitle = "a"\n[matrix]\ntask = ["A"]\n[models]\nm = "x"\n'
    text += '[steps.look]\ncorpus = "{task}"\n'
    with pytest.raises(InputError, match=r"x.toml:9: found steps.look.corpus: \{task\}"):
        read_study("x.toml", text)


def test_models_of_the_command_line_replace_the_file_s() -> None:
    text = built_in()["jo2020"]
    one = read_study("jo", text, Wishes(model="default")).document
    assert one.models == {"main": "default"}
    assert one.matrix["model"] == one.matrix["tuned"] == ["main"]
    assert [s for s in one.steps if s.startswith("probe_")] == ["probe_main"]
    several = read_study("jo", text, Wishes(models=("a/x", "b/y"))).document
    assert several.matrix["model"] == several.matrix["tuned"] == ["x", "y"]
    with pytest.raises(UsageError, match="one of them"):
        read_study("jo", text, Wishes(model="a", models=("b",)))
    with pytest.raises(UsageError, match="is about one model"):
        find_study("clark2019", Wishes(models=("a", "b")))


def test_models_get_different_names() -> None:
    assert model_names(["runs/ckpt-1/", "runs/ckpt-2/"]) == ["ckpt-1", "ckpt-2"]
    assert model_names(["a/model", "b/model"]) == ["a-model", "b-model"]
    with pytest.raises(UsageError, match="different models"):
        model_names(["a", "a"])


def test_lines_of_tables_arrays_and_long_texts() -> None:
    text = (
        'a = """\n[steps.x]\nb = 1\n"""\n[steps.x]\nb = 2\n[[show]]\n[show.published]\nrows = 1\n'
    )
    assert line_of(text, ["steps", "x", "b"]) == 6
    assert line_of(text, ["show", 0, "published", "rows", 3]) == 9


def test_the_template_is_a_study() -> None:
    plan = make_plan(read_study("template.toml", template(), Wishes()))
    assert [one.name for one in plan.steps] == ["look"]


@pytest.mark.parametrize("name", sorted(built_in()))
def test_built_in_studies_are_sound(name: str) -> None:
    """Every name in them is known: steps, figures, claims, measures (files are another matter)."""
    from headscope.studies.plan import _check_shown, _ordered, _steps

    models = ("a/one", "a/two") if name == "emergence" else ()
    for scale in ("full", "small"):
        file = find_study(name, Wishes(scale=scale, models=models))
        steps, places = _steps(file)
        assert _ordered(file, steps, places)
        _check_shown(file, steps)


@pytest.mark.parametrize("name", ["clark2019", "kovaleva2019", "pande2021", "jo2020", "guan2020"])
def test_built_in_studies_can_be_planned_on_the_data_at_hand(name: str, data: Path) -> None:
    file = find_study(name, Wishes(scale="tiny", model="default", annotate="none"))
    plan = make_plan(file, data)
    assert len(plan.steps) >= 5
    assert all(one.cost.seconds > 0 or one.cost.flops > 0 for one in plan.steps)
