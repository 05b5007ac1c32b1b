"""Configuration and catalog: presets, defaults and clear refusals."""

import pytest
import yaml

from checkout import ROOT
from lingprob.catalog import Catalog, read_datasets, read_yaml, surprisal_file, texts_in_file
from lingprob.errors import LingprobError
from lingprob.io import corpora
from lingprob.io import parsers as parsers_by_name
from lingprob.reading import texts
from lingprob.workflow.configuration import read_settings, refuse_duplicate_keys
from lingprob.workflow.names import KINDS, declared_names, names_by_kind
from lingprob.workflow.refusals import entry_faults
from lingprob.workflow.settings import keys

SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text())
OWN_STIMULI = {"title": "Mine", "kind": "stimuli", "parser": "table", "path": "mine.csv"}
OWN_MODEL = {"title": "Mine", "family": "mine", "source": "local", "path": "models/mine"}


@pytest.mark.parametrize(("section", "shipped"), [
    ("models", read_yaml("models.yaml")["models"]), ("datasets", read_datasets()),
    ("embeddings", read_yaml("embeddings.yaml")),
])  # fmt: skip
def test_the_catalog_fits_its_schema(section, shipped):
    found = {name: entry_faults(entry, section, name) for name, entry in shipped.items()}
    assert found == {name: [] for name in shipped}


def test_the_schema_lists_every_parser_of_a_kind():
    """Else a mistyped parser would pass the dry run, or a right one be refused."""
    described = read_yaml("schema.yaml")["$defs"]["dataset"]
    kinds = described["properties"]["kind"]["enum"]
    assert set(kinds).union(*(key.names for key in keys())) <= set(KINDS)  # each has a word
    listed = {
        branch["if"]["properties"]["kind"]["const"]: branch["then"]["properties"]["parser"]["enum"]
        for branch in described["allOf"]
        if "kind" in branch["if"].get("properties", {})
    }
    generated = {"demo_control", "demo_sentences", "token_rows"}
    for kind, parsers in (
        ("stimuli", parsers_by_name.STIMULI),
        ("corpus", corpora.PARSERS.keys() | generated),
        ("reading_texts", texts.PARSERS),
        ("reading_times", parsers_by_name.READING_TIMES),
    ):
        assert set(listed[kind]) == set(parsers)


def test_paper_scale_has_morcela_s_models_and_conventions():
    settings, catalog = read_settings({**SHIPPED, "scale": "paper"})
    models = settings["morcela"]["models"]
    assert len(models) == 16
    for name in models:
        pythia, opt = ("none", "pile_published"), ("bos", "unigrahams_opt-30b")
        entry = catalog.model(name)
        first = (entry["bos_policies"][0], entry["unigrams"][0])
        assert first == (pythia if name.startswith("pythia") else opt)
        assert entry["source"] == "hub"
        assert len(entry["revision"]) == 40


def test_null_removes_an_entry_of_the_scale():
    mine = {"layers": 1, "heads": 1, "width": 8}
    sizes = {"small": None, "medium": None, "mine": mine}
    context = {"pairs_per_suite_of": {"crows_pairs": None}}
    config = {"scale": "paper", "training": {"sizes": sizes}, "context": context}
    settings, catalog = read_settings(config)
    assert set(settings["training"]["sizes"]) == {"large", "mine"}
    assert settings["training"]["sizes"]["mine"] == mine
    assert settings["context"]["pairs_per_suite_of"] == {}
    assert "trained-mine" in catalog.models
    assert "trained-small" not in catalog.models


def test_user_keys_and_entries_win():
    config = {"datasets": {"blimp": OWN_STIMULI}, "morcela": {"models": ["gpt2"]}}
    settings, catalog = read_settings(config)
    assert catalog.dataset("blimp")["path"] == OWN_STIMULI["path"]
    assert settings["morcela"]["models"] == ["gpt2"]
    assert settings["morcela"]["datasets"] == ["demo_minimal_pairs"]
    assert read_settings({"morcela": None})[0] == read_settings({})[0]


def theirs(**entry: object) -> dict:
    """A config with a model of imported word surprisals."""
    model = {"title": "T", "family": "t", "source": "scores", "level": "word"}
    return {"models": {"theirs": {**model, **entry}}}


SCORES = {"mine": {**OWN_MODEL, "source": "scores", "level": "sentence"}}
JAPANESE = {"mine": {**OWN_STIMULI, "language": "ja"}}
WITHOUT_FILES = {"title": "M", "kind": "stimuli", "parser": "table"}
ONE_POLICY = {"mine": {**OWN_MODEL, "bos_policies": ["none"]}}


@pytest.mark.parametrize(("config", "said"), [
    ({"scal": "demo"}, r"unknown key at top level: 'scal'.*'scale'"),
    ({"morcela": {"fold": 3}}, r"unknown key at morcela: 'fold'.*'folds'"),
    ({"scoring": {"tokens_per_batch": "many"}},
     r"scoring\.tokens_per_batch: 'many' is not .* \(number of tokens per forward pass"),
    ({"morcela": 3}, "morcela: `key: value` lines are needed, not 3"),
    ({"overlap": {"ngrams": "a{b}"}}, r"overlap\.ngrams: 'a\{b\}' cannot be used as a path"),
    ({"morcela": {"frequency_start_tokens": ["own", "own"]}}, "'own' is there twice"),
    ({"context": {"pairs_per_suite_of": {"blim": 3}}}, "unknown data set 'blim'"),
    ({"scale": "desktop"}, r"scale: 'desktop' is not 'demo'"),
    ({"training": {"sizes": {"tiny-smal": None}}}, "'tiny-smal'.*'tiny-small'"),
    ({"training": {"sizes": {"tiny-small": None, "tiny-medium": None}}}, "every size is null"),
    ({"string_probability": {"embeddings": {"eng": None}}}, "embeddings 'eng'.*'en'"),
    ({"scale": "paper", "context": {"pairs_per_suite_of": {"crow_pairs": None}}},
     "'crow_pairs'.*'crows_pairs'"),
    ({"morcela": {"models": ["pythia-70"]}}, r"unknown model 'pythia-70'.*'pythia-70m'"),
    ({"morcela": {"datasets": ["linguistics_inquiry"]}}, "'linguistic_inquiry'"),
    ({"morcela": {"frequency_corpus": "gutenburg"}}, "'gutenberg'"),
    ({"models": {"mine": {**OWN_MODEL, "bos_policies": ["boss"]}}}, r"'boss'.*'bos'"),
    ({"models": {"mine": {**OWN_MODEL, "unigrams": ["pile_publishd"]}}}, "'pile_published'"),
    ({"models": {"mine": {**OWN_MODEL, "unigrams": ["corpus_blimp"]}}}, "unknown corpus 'bl"),
    ({"models": {"mine": {**OWN_MODEL, "unigrams": ["unigrahams_trigram"]}}},
     "imported scores, .* do not generate"),
    ({"models": {"mine": {**SCORES["mine"], "datasets": ["blim"]}}}, "unknown data set 'blim'"),
    ({"models": {"mine": {"title": "M", "family": "m", "source": "hub"}}}, "'repository'"),
    ({"models": {"bad/name": OWN_MODEL}}, "bad/name"),
    ({"datasets": {"d_sample20": {"title": "D", "kind": "corpus", "parser": "text"}}},
     r"datasets\.d_sample20: only samples of pairs have names"),
    ({"datasets": {"mine": {"title": "M", "kind": "corpus", "parser": "tex"}}},
     r"datasets\.mine\.parser: 'tex' is not one of .*'text'"),
    ({"scale": "laptop", "reading": {"models": ["published-*"]}},
     r"none of \['published-\*'\] has surprisals of 'brown_spr'"),
    *(({"string_probability": {key: ["sling"]}}, f"none for 'zh', .*{key}")
      for key in ("prediction_1", "prediction_2", "prediction_3", "pooled")),
    ({"context": {"perturbed_tokens": 5, "lengths": [6, 9]}}, "is below the shortest of"),
    ({"string_probability": {"prediction_3": []}}, "prediction_3"),
    ({"context": {"datasets": ["syntaxgym"]}}, "no data set of plain minimal pairs"),
    ({"training": {"keep_checkpoints": [10**9]}}, r"keep_checkpoints: there is no step 10+ in"),
    ({"studies": ["linear"]}, r"unknown study 'linear'.*studies/README"),
    ({"bos_policies": {"p": {"start_token": "nowhere", "first_token": "scored"}}}, "'nowhere'"),
    ({"models": {"mine": {"title": "M", "family": "f", "source": "trained", "size": "small",
                          "fine_tuning_steps": 0}}}, "unknown trained model 'mine'"),
    ({"scale": "laptop", "morcela": {"models": ["trained-*", "!gutenberg-9gram"]}},
     r"unknown model 'gutenberg-9gram'.*morcela\.models"),
    ({"string_probability": {"models": ["nothing-*"]}},
     r"string_probability\.models: no model matches"),
    ({"scale": "laptop", "overlap": {"chunk_corpora": ["abc_news"]}},
     r"'abc_news' is none of overlap\.corpora"),
    # Contexts in another language than English.
    ({"scale": "laptop", "datasets": JAPANESE, "context": {"datasets": ["blimp", "mine"]}},
     r"context\.datasets: 'mine' is in 'ja', .* in English"),
    ({"context": {"models": ["gpt2-chinese"]}}, r"context\.models: 'gpt2-chinese' is in 'zh'"),
    # A name of another kind, which the message names.
    ({"morcela": {"datasets": ["gutenberg"]}}, "morcela.datasets: 'gutenberg' is a corpus"),
    ({"models": SCORES, "context": {"models": ["mine"]}},
     "'mine' is a model of imported scores, without"),
    ({"overlap": {"ngrams": "blimp"}}, "'blimp' is a data set of stimuli, not a corpus or"),
    ({"overlap": {"ngrams": "gutenburg"}}, "'gutenberg'"),
    ({"training": {"tokenizer": "owm"}}, "'own'"),
    # A model without such a BOS policy.
    ({"models": ONE_POLICY, "string_probability": {"models": ["mine"], "bos": "scored"}},
     r"models.mine.bos_policies: \['none'\].*'scored'"),
    ({"models": ONE_POLICY, "string_probability": {"models": ["mine"], "bos": "boss"}},
     r"'boss'.*'bos'"),
    # Files of a data set that has none, such as itself.
    *(({"datasets": {"mine": {**WITHOUT_FILES, "files_of": other}}},
       f"files_of: the data set '{other}' has no files")
      for other in ("mine", "demo_minimal_pairs")),
    (theirs(path="p.csv"), "'texts' is a required property"),
    (theirs(texts=["provo"]), "'path' is a required property"),
    (theirs(paths={"provo": "p.csv"}, level="token"), "'word' was expected"),
    (theirs(paths={"provo": "p.csv"}, texts=["geco"]), "paths: no file for 'geco'"),
    (theirs(paths={"privo": "p.csv"}), "unknown reading text 'privo'. Did you mean 'provo'"),
    (theirs(paths={"blimp": "p.csv"}), "unknown reading text 'blimp'"),
    (theirs(paths={"provo": "p{1}.csv"}), r"'p\{1\}.csv' cannot be used as a path.* braces"),
    (theirs(path="{texts}.csv", texts=["provo"]), "models.theirs.path: .* braces"),
    (theirs(path="", texts=["provo"]), "models.theirs.path: .* not be empty"),
    (theirs(path="p.csv", texts=["provo"], context="word"),
     r"'word' is not one of .*\(level word: text that could precede"),
])  # fmt: skip
def test_a_mistake_is_refused_with_its_place(config, said):
    with pytest.raises(LingprobError, match=said):
        read_settings(config)


def declared_keys(scale):
    """Every key that stands for other things and names some at a scale, by its place."""
    settings, _ = read_settings({"scale": scale})
    return {key.path: key for key, _ in declared_names(settings)}


@pytest.mark.parametrize("where", declared_keys("laptop"))
def test_every_key_refuses_wrong_names(where):
    section, key = where.split(".")
    declared = declared_keys("laptop")[where]
    kinds = names_by_kind(Catalog())
    allowed = {name for kind in declared.names for name in kinds[kind]}
    wrong = next(name for name in ("blimp", "gutenberg", "provo") if name not in allowed)
    for name, said in (("no-such-thing", "unknown"), (wrong, f"{where}: '{wrong}' is a .*, not a")):
        shape = str(declared.field.annotation)
        value = [name] if "list" in shape else {"en": name} if "dict" in shape else name
        with pytest.raises(LingprobError, match=said) as refused:
            read_settings({"scale": "laptop", section: {key: value}})
        assert where in str(refused.value)


@pytest.mark.parametrize("scale", ["demo", "laptop", "paper"])
def test_keys_with_catalog_names_are_declared(scale):
    catalog = Catalog()
    everything = {*catalog.models, *catalog.datasets, *catalog.embeddings}
    declared = declared_keys(scale)
    for section, preset in read_yaml("scales.yaml")[scale].items():
        for key, value in preset.items():
            names = value.values() if isinstance(value, dict) else value
            names = [value] if isinstance(value, str) else names
            if isinstance(names, list) and everything.intersection(map(str, names)):
                assert f"{section}.{key}" in declared


@pytest.mark.parametrize("scale", ["demo", "laptop", "paper"])
def test_own_data_switch_off_the_papers_extras(scale):
    own = {"datasets": {"mine": OWN_STIMULI}}
    usual = read_settings({"scale": scale})[0]["morcela"]
    alone = read_settings({"scale": scale, **own, "morcela": {"datasets": ["mine"]}})[0]["morcela"]
    changed = {key for key in usual if usual[key] != alone[key]}
    assert changed - {"predicted", "unigrams"} == {"models", "datasets", "frequency_models"}
    assert alone["predicted"] == alone["unigrams"] == alone["frequency_models"] == []
    assert alone["models"] == ["smollm2-135m"]
    asked = {"datasets": ["mine"], "unigrams": ["corpus_*"], "predicted": ["cola"]}
    named = read_settings({"scale": scale, **own, "morcela": asked})[0]["morcela"]
    assert {key: named[key] for key in asked} == asked
    beside = {"datasets": ["mine", "linguistic_inquiry"]}
    for config in ({**own, "morcela": beside}, {**own, "morcela": {"repeats": 3}}, own):
        found = read_settings({"scale": scale, **config})[0]
        assert found["morcela"]["frequency_models"] == usual["frequency_models"] != []
        assert len(found["site"]["papers"]) == 6


def test_the_site_of_a_study_shows_its_rooms():
    own = {"datasets": {"mine": OWN_STIMULI}, "morcela": {"datasets": ["mine"]}}
    strings = {f"prediction_{number}": ["mine"] for number in (1, 2, 3)}
    some = {"prediction_1": ["mine"], "prediction_3": ["mine"]}
    replaced = {"linguistic_inquiry": OWN_STIMULI}  # another file for the paper's data
    papers = {"datasets": replaced, "morcela": {"datasets": ["linguistic_inquiry"]}}
    for config, rooms in (
        ({**own, "string_probability": strings}, ["morcela", "string_probability"]),
        ({**own, "string_probability": some}, ["morcela"]),
        ({**own, "site": {"papers": ["context"]}}, ["context"]),
        (papers, read_settings({})[0]["site"]["papers"]),
    ):
        assert read_settings(config)[0]["site"]["papers"] == rooms


def test_patterns_add_and_remove_models():
    steps = {"scale": "laptop", "training": {"keep_checkpoints": [16, 64]}}
    patterns = ["gutenberg-2gram", "trained-tiny-s*", "gutenberg-?gram", "!*-ft*", "!*-1gram"]
    found = read_settings({**steps, "morcela": {"models": patterns}})[0]["morcela"]["models"]
    assert found == [
        "gutenberg-2gram", "trained-tiny-small", "trained-tiny-small-step16",
        "trained-tiny-small-step64", *(f"gutenberg-{order}gram" for order in (3, 4, 5)),
    ]  # fmt: skip
    whole = read_settings(steps)[0]["morcela"]["models"]
    assert len(whole) >= 12
    assert not [name for name in whole if "-ft" in name]


def test_only_checkpoints_before_the_end_are_kept():
    """The model after the last step is the trained model itself."""
    given = read_settings({"scale": "laptop"})[0]["training"]["keep_checkpoints"]
    assert len(given) > 2
    found, _ = read_settings({"scale": "laptop", "training": {"steps": given[1]}})
    assert found["training"]["keep_checkpoints"] == given[:1]


def test_names_that_need_no_entry_pass():
    given = {
        "overlap": {"ngrams": "models/mine.arpa"},
        "reading": {"models": ["smollm2-*"]},
        "training": {"tokenizer": "gpt-neox-20b"},
        "morcela": {"unigrams": ["corpus_gutenberg", "unigrahams_gpt2"], "frequency_models": []},
    }
    settings, _ = read_settings(given)
    assert settings["overlap"]["ngrams"] == "models/mine.arpa"


def test_text_from_the_command_line_becomes_numbers():
    size = {"layers": "1", "heads": "1", "width": "8"}
    training = {"sizes": {"mine": size}, "fine_tuning": {"steps": ["3"]}}
    given = {"morcela": {"folds": "4"}, "unigrams": {"normalise_published": "true"}, "seed": "7"}
    given |= {"training": training, "overlap": {"soft_min_words": "null"}}
    settings, catalog = read_settings(given)
    assert settings["overlap"]["soft_min_words"] is None
    assert settings["morcela"]["folds"] == 4
    assert settings["unigrams"]["normalise_published"] is True
    assert settings["seed"] == 7
    assert settings["training"]["sizes"]["mine"] == {"layers": 1, "heads": 1, "width": 8}
    assert catalog.model("trained-mine-ft3")["fine_tuning_steps"] == 3


def test_own_models_inherit_their_family_s_conventions():
    catalog = Catalog(models={"mine": {**OWN_MODEL, "family": "opt"}, "new": OWN_MODEL})
    mine = catalog.model("mine")
    assert (mine["bos_policies"][0], mine["tokenizer"]) == ("bos", "opt")
    assert catalog.model("new")["unigrams"] == ["unigrahams_new"]
    assert catalog.tokenizer_provider("new") == "new"
    assert "/jmerch/" in catalog.dataset("li_large")["files"][1]["url"]  # of its own


@pytest.mark.parametrize("value", ["0777", "1_234_567", "12:30:45", "1.10", "2024-01-02", "on"])
@pytest.mark.parametrize("place", ["models: {m: {revision: %s}}", "datasets: {d: {title: %s}}",
                                   "datasets: {%s: {title: x}}"])  # fmt: skip
def test_scalars_that_yaml_changes_are_refused(value, place, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("seed: 1\n" + place % value)
    with pytest.raises(LingprobError, match=rf'own\.yaml, line 2: .*quotation marks: "{value}"'):
        refuse_duplicate_keys([path])
    path.write_text(place % f"'{value}'" + "\nother: {a: {x: 1}, b: {x: 1}}")
    refuse_duplicate_keys([path, ROOT / "config.yaml"])


@pytest.mark.parametrize(
    "parts", [("unigrahams", "opt-30b"), ("corpus", "gutenberg"), ("training", "16")]
)
def test_unigram_sources_name_their_kind(parts):
    assert Catalog().unigram_source("_".join(parts)) == parts
    assert Catalog().unigram_source("pile_published") == ("published", "pile_published")


@pytest.mark.parametrize(("bos", "policies"), [
    ("scored", {"smollm2-135m": "endoftext", "pythia-70m": "bos", "gpt2-chinese": "cls"}),
    ("excluded", {"smollm2-135m": "endoftext_first_excluded", "pythia-70m": "none",
                  "gpt2-chinese": "cls_first_excluded"}),
])  # fmt: skip
def test_string_probability_finds_each_family_s_bos_policy(bos, policies):
    """The paper sums over all tokens, so that a start token precedes each sentence."""
    config = {"string_probability": {"models": [*policies, "trigram"], "bos": bos}}
    _, catalog = read_settings(config)
    assert {name: catalog.bos_policy(name, bos) for name in policies} == policies
    assert catalog.bos_policy("trigram", bos) == "imported"


def test_imported_surprisals_have_a_file_for_each_text():
    paths = {"provo": "p.csv", "brown_spr": "b.csv", "geco": "p.csv"}
    _, catalog = read_settings(theirs(paths=paths, context="sentence"))
    entry = catalog.model("theirs")
    assert entry["texts"] == ["provo", "brown_spr", "geco"]
    assert surprisal_file(entry, "brown_spr") == "b.csv"
    assert texts_in_file(entry, "provo") == ["provo", "geco"]
    _, catalog = read_settings(theirs(path="p.csv", texts=["provo", "geco"]))
    assert texts_in_file(catalog.model("theirs"), "geco") == ["provo", "geco"]
