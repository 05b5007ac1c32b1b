"""Plans of a training: sizes, schedule, devices and entries."""

import math

import pytest
import torch
import torch.distributed as dist

from lingprob.catalog import read_yaml
from lingprob.errors import LingprobError
from lingprob.figures.palette import group_of
from lingprob.training.model import build_model
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import Plan, world_of
from lingprob.training.updates import choose_dtype, learning_rate, warmup_steps
from lingprob.workflow import scope
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.names import surprisal_models
from lingprob.workflow.sources import Run

PAPER = {"small": 28_125_440, "medium": 70_426_624, "large": 162_322_944}  # leakage, Table 1
CPU = torch.device("cpu")


def test_the_papers_models_have_its_parameters():
    sizes = read_yaml("scales.yaml")["paper"]["training"]["sizes"]
    for name, parameters in PAPER.items():
        size = ModelSize(**sizes[name])
        with torch.device("meta"):
            model = build_model(size, 50_304, 2048, seed=0)
        assert sum(weight.numel() for weight in model.parameters()) == parameters
        assert size.parameters(50_304) == parameters


def test_operations_on_a_token_by_hand():
    """Two layers of 8: weights in products are 2 x (12 x 64 + 13 x 8), 16 of norms, 100 x 8."""
    size = ModelSize(layers=2, heads=2, width=8)
    assert size.parameters(100) == 2 * (768 + 104) + 16 + 1600
    assert size.flops_per_token(100, 16) == 6 * (1744 + 16 + 800) + 12 * 2 * 8 * 16


def test_the_architecture_is_pythia_s():
    model = build_model(ModelSize(2, 2, 32), 64, 16, seed=0, separator=5)
    config = model.config
    assert config.use_parallel_residual
    assert not config.tie_word_embeddings
    assert config.rope_parameters["partial_rotary_factor"] == 0.25
    assert config.rope_parameters["rope_theta"] == 10_000
    assert config.use_cache
    assert (config.bos_token_id, config.eos_token_id) == (5, 5)
    assert (config.attention_dropout, config.hidden_dropout) == (0.0, 0.0)
    assert config.intermediate_size == 128
    assert model.lm_head.weight.data_ptr() != model.gpt_neox.embed_in.weight.data_ptr()


def test_first_weights_have_pythia_s_spread():
    """sqrt(2 / (5 d)) = 0.0559, and 2 / (L sqrt(d)) = 0.0589 at the end of a layer."""
    model, other = (build_model(ModelSize(3, 2, 128), 4096, 16, seed=seed) for seed in (0, 1))
    layer = model.gpt_neox.layers[1]
    assert model.gpt_neox.embed_in.weight.std().item() == pytest.approx(0.0559, rel=0.01)
    assert (other.gpt_neox.embed_in.weight != model.gpt_neox.embed_in.weight).any()
    assert model.gpt_neox.embed_in.weight.mean().item() == pytest.approx(0, abs=1e-3)
    assert layer.mlp.dense_h_to_4h.weight.std().item() == pytest.approx(0.0559, rel=0.01)
    assert layer.mlp.dense_4h_to_h.weight.std().item() == pytest.approx(0.0589, rel=0.01)
    assert layer.attention.dense.weight.std().item() == pytest.approx(0.0589, rel=0.02)
    assert (layer.input_layernorm.weight == 1).all()
    assert (layer.input_layernorm.bias == 0).all()
    assert (layer.attention.query_key_value.bias == 0).all()


@pytest.mark.parametrize(("heads", "width"), [(3, 32), (3, 25), (2, 24)])
def test_heads_must_share_the_width(heads, width):
    """32 / 3 and 25 / 3 are not whole numbers, and 24 / 2 is not a multiple of eight."""
    with pytest.raises(LingprobError, match=rf"training\.sizes: {heads} heads .* width of {width}"):
        build_model(ModelSize(2, heads, width), 64, 16, seed=0)


@pytest.mark.parametrize(("step", "expected"), [
    (1, 1e-5),  # 1e-3 / 100
    (50, 5e-4),
    (100, 1e-3),
    # 100 + 9,900 / 4: 1e-4 + 9e-4 (1 + cos(pi / 4)) / 2
    (2575, 1e-4 + 9e-4 * (1 + math.sqrt(0.5)) / 2),
    (5050, 5.5e-4),  # halfway: (1e-3 + 1e-4) / 2
    (6700, 3.25e-4),  # two thirds: 1e-4 + 9e-4 / 4
    (10_000, 1e-4),
])  # fmt: skip
def test_the_paper_s_schedule(step, expected):
    """Linear over the first 100 of 10,000 steps, then a cosine (leakage, Appendix A)."""
    assert warmup_steps(10_000, Plan.warmup) == 100
    found = learning_rate(step, 10_000, warmup=100, highest=1e-3, lowest=Plan.lowest_learning_rate)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_shortest_trainings_have_a_schedule():
    assert warmup_steps(10, 0.0) == 1
    for steps, rates in ((1, [3.0]), (2, [3.0, 1.0])):
        options = {"warmup": 1, "highest": 3.0, "lowest": 1.0}
        assert [learning_rate(n, steps, **options) for n in range(1, steps + 1)] == rates


def test_a_model_s_entry_follows_from_its_size():
    _, catalog = read_settings({"scale": "paper"})
    entry = catalog.model("trained-large-ft10")
    assert (entry["source"], entry["size"], entry["fine_tuning_steps"]) == ("trained", "large", 10)
    assert entry["parameters"] == PAPER["large"]
    assert (entry["context_window"], entry["tokenizer"]) == (2048, "gpt-neox-20b")
    assert entry["title"] == "Large, fine-tuned 10 steps"
    trained = [name for name, e in catalog.models.items() if e["family"] == "trained"]
    assert len(trained) == 9
    with pytest.raises(LingprobError, match="unknown trained model 'trained-huge'"):
        read_settings({"models": {"trained-huge": {**entry, "size": "huge"}}})


def test_a_kept_model_has_its_entry_and_state():
    settings = {"training": {"keep_checkpoints": [1, 90]}, "reading": {"models": ["trained-*"]}}
    settings, catalog = read_settings(settings)
    entry = catalog.model("trained-tiny-small-step90")
    assert (entry["training_step"], entry["fine_tuning_steps"]) == (90, 0)
    assert entry["title"] == "Tiny small, step 90"
    states = {
        group_of(catalog.models[name])
        for name in surprisal_models(catalog, settings["reading"]["models"], "demo_reading")
    }
    tuned = {f"trained, {steps} FT steps" for steps in (5, 10)}
    assert states == {"trained", *tuned, "trained, after step 1", "trained, after step 90"}


@pytest.mark.parametrize(("training", "said"), [
    ({"keep_checkpoints": [91]}, "no step 91 in a training of 90 steps"),
    ({"tokenizer": "gpt-neox"}, r"'gpt-neox-20b'.*\(training\.tokenizer\)"),
    ({"sizes": {"mine": {"layers": 1, "heads": 1}}}, r"sizes\.mine\.width: it is missing"),
    ({"chunks": "some"}, r"training\.chunks: 'some' is not 'selected' or"),
    ({"fine_tuning": {"step": [3]}}, r"'step' \(did you mean 'steps'"),
])  # fmt: skip
def test_a_mistake_in_the_configuration_is_refused(training, said):
    with pytest.raises(LingprobError, match=said):
        read_settings({"training": training})


@pytest.mark.parametrize(
    ("device", "there", "place", "chosen"),
    [("auto", True, {"LOCAL_RANK": "1"}, "cuda:1"), ("auto", False, {"LOCAL_RANK": "1"}, "cpu"),
     ("cpu", True, {}, "cpu"), ("cuda", True, {}, "cuda:0")],
)  # fmt: skip
def test_each_process_takes_its_own_gpu(device, there, place, chosen, monkeypatch):
    events: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: events.append(str(device)))
    monkeypatch.setattr(dist, "init_process_group", events.append)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: events.append("parted"))
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", **place}.items():
        monkeypatch.setenv(name, value)
    with world_of(device) as world:
        assert (world.device, world.rank, world.size) == (torch.device(chosen), 1, 2)
    assert events == [*(["gloo"] if chosen == "cpu" else [chosen, "nccl"]), "parted"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(LingprobError, match="torch finds no GPU"), world_of("cuda"):
        pass


@pytest.mark.parametrize(("features", "gpu", "on_cpu", "on_gpu"), [
    ({}, False, torch.float32, torch.float16),
    ({"avx512_bf16": True}, True, torch.bfloat16, torch.bfloat16),
    ({"avx512_bf16": False, "amx_bf16": True}, True, torch.bfloat16, torch.bfloat16),
    ({"avx512_f": True, "amx_int8": True}, False, torch.float32, torch.float16),
])  # fmt: skip
def test_auto_precision_follows_the_hardware(features, gpu, on_cpu, on_gpu, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: gpu)
    assert choose_dtype("auto", CPU) == on_cpu
    assert choose_dtype("auto", torch.device("cuda")) == on_gpu
    assert choose_dtype("float16", torch.device("cuda")) == torch.float16
    assert choose_dtype("float32", CPU) == torch.float32
    with pytest.raises(LingprobError, match="float16 needs a GPU"):
        choose_dtype("float16", CPU)


def test_each_step_s_model_has_its_unigrams():
    kept = {"training": {"keep_checkpoints": [1, 2, 4]}}
    names = ["demo_sentences", "nltk"]
    kept["overlap"] = {"corpora": names, "chunk_corpora": names[::-1]}
    settings, catalog = read_settings(kept)
    listed = {
        name: catalog.model(f"trained-tiny-small{name}")["unigrams"]
        for name in ("", "-ft5", "-step1", "-step4")
    }
    assert {name: found[0] for name, found in listed.items()} == {
        "": "training_90", "-ft5": "training_90", "-step1": "training_1", "-step4": "training_4"
    }  # fmt: skip
    assert {found[1] for found in listed.values()} == {"corpus_nltk"}
    plan = Run(settings, catalog)
    assert scope.unigram_tables(plan, "trained-tiny-small-step4")[0] == (
        "results/unigrams/trained/training_4.parquet"
    )
    _, paper = read_settings({**kept, "scale": "paper"})
    model = paper.model("trained-small-step2")
    assert model["unigrams"] == ["pile_published", "training_2"]
    with pytest.raises(LingprobError, match="training_all"):
        catalog.unigram_source("training_all")
    with pytest.raises(LingprobError, match=r"'training_8'.*morcela\.unigrams"):
        read_settings({**kept, "morcela": {"unigrams": ["training_8"]}})
    read_settings({**kept, "morcela": {"unigrams": ["training_4"]}})
