"""Models and tokenizers that users bring: which tokens count, and which folders are refused."""

import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import lingprob
from lingprob.errors import LingprobError
from lingprob.models.folders import is_masked
from lingprob.models.loading import Tokens, load_language_model
from lingprob.models.masked import load_masked_model, number_words
from lingprob.models.tokenizer import Letters, name_different_tokens, read_tokenizer
from lingprob.reading.surprisal import space_tokens
from models_for_tests import CONTEXT_WINDOW, SENTENCES, VOCABULARY_SIZE, plain_logprobs

THREES = r"\p{N}{1,3}|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
SMALL = {
    "vocab_size": VOCABULARY_SIZE, "hidden_size": 32, "intermediate_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": CONTEXT_WINDOW,
    "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
}  # fmt: skip
GROUPED = {**SMALL, "num_key_value_heads": 2}


def byte_level(
    normalizer: Any = None, split: Any = None, texts: Any = SENTENCES, **options: Any
) -> Tokenizer:
    """Train a small byte-level tokenizer with <s>, </s> and <pad>."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizer or tokenizer.normalizer
    tokenizer.pre_tokenizer = split or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save(
    folder: Path,
    tokenizer: Tokenizer | None = None,
    model: Any = None,
    class_name: str | None = None,
    **special: Any,
) -> Path:
    """Save a model, a Llama if none is given, with sharpened weights and its tokenizer.

    The tokenizer may name another class.
    """
    model = model or causal(hf.LlamaConfig(**GROUPED))
    tokenizer = tokenizer or byte_level()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    special = special or {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    if class_name:
        edit(folder / "tokenizer_config.json", tokenizer_class=class_name)
    return folder


def edit(path: Path, **entries: Any) -> None:
    """Change entries of a JSON file; None removes one."""
    content = {**json.loads(path.read_text()), **entries}
    path.write_text(json.dumps({key: one for key, one in content.items() if one is not None}))


def causal(config: Any) -> Any:
    """Build a causal model of a configuration."""
    return hf.AutoModelForCausalLM.from_config(config, dtype=torch.float32)


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """Tokenise a text without special tokens."""
    return tokenizer.encode(text, add_special_tokens=False).ids


def plain_sum(folder: Path, ids: list[int], start: int | None = 0, first: int = 0) -> float:
    """Sum ln p of ids, from the first that counts, in one pass of transformers' model."""
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return float(np.nansum(plain_logprobs(model, ids, start)[first:]))


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def llama(tmp_path) -> Path:
    """The folder of a small Llama."""
    return save(tmp_path / "model")


def change_weights(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace the weights of a folder, by name, with the result of a function."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def in_sequence(first: Any, **options: Any) -> Any:
    """Combine a pre-tokenizer with that of bytes."""
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, **options)
    return pre_tokenizers.Sequence([first, of_bytes])


@pytest.mark.parametrize(
    ("class_name", "architecture", "tokenizer", "text"),
    [
        ("GPT2Tokenizer", hf.LlamaConfig, {"normalizer": normalizers.NFKC()}, "The ﬁlms are old."),
        ("GPT2Tokenizer", hf.LlamaConfig, {"normalizer": normalizers.Lowercase()}, "THE CAT."),
        (
            "PreTrainedTokenizerFast", hf.Qwen2Config,
            {"split": in_sequence(pre_tokenizers.Split(Regex(THREES), "isolated"), use_regex=False),
             "texts": [f"In {n} there were {n * 7919} of them." for n in range(1900, 2000)]},
            "In 1907 there were 14301793 of them.",
        ),
        (
            "LlamaTokenizer", hf.LlamaConfig,
            {"split": in_sequence(pre_tokenizers.Digits(individual_digits=True))}, "Add ½ of 1995.",
        ),
    ],
)  # fmt: skip
def test_tokens_are_those_of_tokenizer_json(class_name, architecture, tokenizer, text, tmp_path):
    backend = byte_level(**tokenizer)
    folder = save(tmp_path / "model", backend, causal(architecture(**GROUPED)), class_name)
    ids = ids_of(backend, text)
    table = lingprob.load(folder).score(text, bos="bos")
    assert table["n_tokens"][0] == len(ids)
    assert table["logprob"][0] == pytest.approx(plain_sum(folder, ids), abs=1e-4)


def test_texts_that_transformers_splits_otherwise_are_named(tmp_path, caplog):
    folder = save(tmp_path, byte_level(normalizers.NFKC()), class_name="GPT2Tokenizer")
    name_different_tokens(folder)
    assert "GPT2Tokenizer would split these differently" in caplog.text
    assert "ﬁlms" in caplog.text
    assert "The keys are old." not in caplog.text
    caplog.clear()
    edit(folder / "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    name_different_tokens(folder)
    assert not caplog.text


def test_a_random_tokenizer_is_refused(tmp_path):
    folder = save(tmp_path, byte_level(dropout=0.1))
    with pytest.raises(LingprobError, match=r"tokenizer\.json: .*at random.*null"):
        read_tokenizer(folder)


def test_special_tokens_outside_the_vocabulary_do_not_count(tmp_path):
    backend = byte_level()
    config = hf.GPT2Config(
        vocab_size=VOCABULARY_SIZE, n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT_WINDOW
    )
    folder = save(tmp_path, backend, causal(config))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    lm = load_language_model(folder)
    assert lm.tokenizer.bos_token_id is None
    with pytest.raises(LingprobError, match="no single token for 'bos'"):
        lm.start_id("bos")


def test_a_token_without_an_embedding_is_refused(tmp_path):
    backend = byte_level()
    backend.add_special_tokens(["<mask>"])
    backend.add_tokens(["zebra"])
    bert = hf.BertForMaskedLM(hf.BertConfig(**SMALL))
    lm = load_language_model(save(tmp_path / "l", backend))
    masked = load_masked_model(save(tmp_path / "b", backend, bert, mask_token="<pad>"))
    with pytest.raises(LingprobError, match=r"'<mask>' has the id 320, .*0 to 319"):
        lm.start_id("<mask>")
    with pytest.raises(LingprobError, match=r"'<mask>' has the id 320, .*0 to 319"):
        load_masked_model(save(tmp_path / "other", backend, bert, mask_token="<mask>"))
    for model in (lm, masked):
        with pytest.raises(LingprobError, match="'zebra' has the id 321"):
            model.tokenize(["a zebra"])


SHORT = {**SMALL, "max_position_embeddings": 48}


@pytest.mark.parametrize(
    ("family", "config", "window"),
    [
        ("gpt2", hf.GPT2Config(vocab_size=320, n_embd=32, n_head=4, n_positions=48), 48),
        ("pythia", hf.GPTNeoXConfig(**SHORT), 48),
        ("opt", hf.OPTConfig(**SHORT, word_embed_proj_dim=32), 48),
        (None, hf.MptConfig(vocab_size=320, d_model=32, n_layers=2, n_heads=4, max_seq_len=16), 16),
        # RoBERTa's positions begin after that of its padding.
        (None, hf.RobertaConfig(**SHORT, is_decoder=True), 45),
    ],
)
def test_windows_are_those_of_the_model(family, config, window, tmp_path):
    folder = save(tmp_path / "model", byte_level(), causal(config))
    lm: Any = lingprob.load(folder, family=family)
    assert lm.lm.context_window == window
    assert np.isfinite(lm.score(" ".join(SENTENCES))["logprob"][0])


def longrope(boundary: int, longest: int) -> Any:
    """Build a Phi-3 whose rotary frequencies change beyond a boundary."""
    rope = {
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.05, 1.1, 1.2],
        "long_factor": [8.0, 12.0, 20.0, 40.0], "original_max_position_embeddings": boundary,
        "partial_rotary_factor": 1.0,
    }  # fmt: skip
    return hf.Phi3Config(
        **{**SMALL, "max_position_embeddings": longest}, num_key_value_heads=4,
        original_max_position_embeddings=boundary, sliding_window=None, rope_parameters=rope,
    )  # fmt: skip


def test_short_and_long_texts_keep_their_own_rotation(tmp_path):
    backend = byte_level()
    folder = save(tmp_path / "model", backend, causal(longrope(16, 128)))
    texts = ["The mat.", " ".join(SENTENCES[:3]), "The cat sat.", " ".join(SENTENCES[3:5])]
    lm: Any = lingprob.load(folder)
    for policy, start in (("none", None), ("bos", 0)):
        wanted = [plain_sum(folder, ids_of(backend, text), start) for text in texts]
        assert lm.score(texts, bos=policy)["logprob"].tolist() == pytest.approx(wanted, abs=1e-3)
    words = " ".join(SENTENCES).split()
    around = [" ".join(words[:number]) for number in range(2, 16)]
    lengths = [len(ids_of(backend, text)) for text in around]
    assert 17 in lengths  # without its last token, as long as the boundary
    together = lm.score(around, bos="none")["logprob"].tolist()
    alone = [lm.score(text, bos="none")["logprob"][0] for text in around]
    assert together == pytest.approx(alone, abs=1e-3)
    context, target = "The cat sat.", "It seems to him that Kim solved the problem."
    whole = ids_of(backend, f"{context} {target}")
    wanted = plain_sum(folder, whole, first=len(ids_of(backend, context)))
    found = lm.score(target, context=context, bos="bos")["logprob"][0]
    assert found == pytest.approx(wanted, abs=1e-3)


PICTURES = hf.CLIPVisionConfig(
    hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, image_size=28,
    patch_size=14,
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "config", "match"),
    [
        (hf.GPT2ForSequenceClassification,
         hf.GPT2Config(vocab_size=320, n_embd=32, n_layer=1, n_head=4, pad_token_id=2),
         "a classifier or reward model .*GPT2ForSequenceClassification"),
        (hf.Qwen3Model, hf.Qwen3Config(**GROUPED, head_dim=8, tie_word_embeddings=True),
         "embedding model .*Qwen3Model"),
        (hf.T5ForConditionalGeneration,
         hf.T5Config(vocab_size=320, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4,
                     decoder_start_token_id=0),
         r"an encoder-decoder \(T5ForConditionalGeneration\)"),
        (hf.ElectraForPreTraining, hf.ElectraConfig(**SMALL, embedding_size=32),
         "a discriminator of replaced tokens"),
        (hf.ReformerModelWithLMHead,
         hf.ReformerConfig(
             vocab_size=320, hidden_size=32, attention_head_size=8, num_attention_heads=4,
             axial_pos_shape=[8, 8], axial_pos_embds_dim=[16, 16], attn_layers=["lsh"],
             max_position_embeddings=64, num_buckets=4, is_decoder=True),
         "Reformer's attention .* later tokens change"),
        (hf.LlavaForConditionalGeneration,
         hf.LlavaConfig(text_config=hf.LlamaConfig(**GROUPED), vision_config=PICTURES),
         "`model_type` is 'llava'"),
    ],
)  # fmt: skip
def test_a_folder_of_another_kind_is_named(kind, config, match, tmp_path):
    folder = save(tmp_path / "model", byte_level(), kind(config))
    with pytest.raises(LingprobError, match=match) as caught:
        lingprob.load(folder)
    assert len(str(caught.value)) < 400 + len(str(folder))
    assert "delete" not in str(caught.value).lower()


@pytest.mark.parametrize(("causal_flag", "masked"), [(None, True), (False, True), (True, False)])
@pytest.mark.parametrize("name", ["XLMWithLMHeadModel", "FlaubertWithLMHeadModel"])
def test_xlm_says_which_kind_it_is(name, causal_flag, masked, tmp_path):
    config = {"architectures": [name]} | ({} if causal_flag is None else {"causal": causal_flag})
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert is_masked(tmp_path) == masked


ALLOCATION = "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError(ALLOCATION)])
def test_memory_is_named_if_it_runs_out(masked, error, tmp_path, monkeypatch):
    """The library fails as torch and Python do when the weights do not fit in memory."""
    model = hf.BertForMaskedLM(hf.BertConfig(**SMALL)) if masked else None
    special = {"mask_token": "<s>", "unk_token": "</s>"} if masked else {}
    folder = save(tmp_path / "model", model=model, **special)
    kind = hf.AutoModelForMaskedLM if masked else hf.AutoModelForCausalLM
    monkeypatch.setattr(kind, "from_pretrained", Mock(side_effect=error))
    with pytest.raises(LingprobError, match="ran out of memory while the weights") as told:
        lingprob.load(folder)
    assert "language model that transformers can" not in str(told.value)


@pytest.mark.parametrize(
    ("method", "package"),
    [("gptq", "gptqmodel"), ("bitsandbytes", "bitsandbytes"), ("awq", "gptqmodel")],
)
def test_quantised_weights_name_the_package(method, package, llama):
    quantised = {"quant_method": method, "bits": 4, "group_size": 128, "load_in_4bit": True}
    edit(llama / "config.json", quantization_config=quantised)
    with pytest.raises(LingprobError, match=rf"quantised by {method}, .*Install {package}"):
        lingprob.load(llama)


Q_PROJ = "model.layers.0.self_attn.q_proj.weight"
EIGHT_BITS = rf"1 weights have 8 bits, .*for instance {Q_PROJ}\."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found | {Q_PROJ: (found[Q_PROJ] * 100).to(torch.int8)}, EIGHT_BITS),
        (lambda found: found | {Q_PROJ: found[Q_PROJ].to(torch.float8_e4m3fn)}, EIGHT_BITS),
        (lambda found: {f"_orig_mod.{name}": found[name] for name in found},
         "saved from a compiled model"),
    ],
)  # fmt: skip
def test_weights_of_another_form_are_named(change, said, llama):
    change_weights(llama, change)
    with pytest.raises(LingprobError, match=said):
        lingprob.load(llama)


@pytest.mark.parametrize(
    ("kind", "beside_weights", "peft", "said"),
    [
        ("LORA", True, None, "a LORA adapter of .*First merge"),
        ("LORA", False, None, "a LORA adapter of .*First `pip install peft`, or merge"),
        ("PROMPT_TUNING", False, Mock(), "adapter cannot be merged into .*base"),
    ],
)
def test_an_adapter_is_never_scored_as_its_base(
    kind, beside_weights, peft, said, tmp_path, monkeypatch, llama
):
    monkeypatch.setattr("lingprob.models.loading.find_spec", lambda name: peft)
    monkeypatch.setitem(sys.modules, "peft", Mock(PeftModel=object))
    base = tmp_path / "base"
    if not beside_weights:
        llama.rename(base)
        llama.mkdir()
    described = {"peft_type": kind, "base_model_name_or_path": str(base)}
    (llama / "adapter_config.json").write_text(json.dumps(described))
    with pytest.raises(LingprobError, match=said):
        load_language_model(llama)


def test_an_adapter_is_merged_where_peft_is_installed(tmp_path):
    peft = pytest.importorskip("peft")
    base = save(tmp_path / "base")
    model = hf.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    torch.manual_seed(1)
    adapted = peft.get_peft_model(
        model, peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    )
    adapted.save_pretrained(tmp_path / "adapter")
    ids = ids_of(byte_level(), "The cat sat.")
    wanted = plain_logprobs(adapted, ids, 0).sum()
    found = lingprob.load(tmp_path / "adapter").score("The cat sat.", bos="bos")["logprob"][0]
    assert found == pytest.approx(wanted, abs=1e-3)
    assert abs(found - plain_sum(base, ids)) > 0.01


def spans(*places: tuple[int, int, int]) -> Tokens:
    """Build tokens from (id, start, end)."""
    ids, start, end = np.array(places, dtype=np.int32).reshape(-1, 3).T
    return Tokens(ids, start, end)


def test_lost_letters_by_hand():
    """Letters without a token, and those of an unknown token; spaces and composed accents pass."""
    text = "The 猫 sat."
    plain = Letters()
    assert plain.lost(text, spans((5, 0, 3), (6, 5, 10))) == ["猫"]
    assert plain.lost(text, spans((5, 0, 3), (6, 4, 5), (6, 5, 10))) == []
    for unknown in (7, 0):
        tokens = spans((5, 0, 3), (unknown, 4, 5), (6, 6, 10))
        assert Letters(unknown_id=unknown).lost(text, tokens) == ["猫"]
    decomposed = "cafe\u0301"
    assert Letters().lost(decomposed, spans((1, 0, 4))) == ["\u0301"]
    assert Letters(composes=True).lost(decomposed, spans((1, 0, 4))) == []
    assert plain.lost("a\u200db", spans((1, 0, 1), (2, 2, 3))) == []


def pieces(model: Any, trainer: Any = trainers.BpeTrainer, **more: Any) -> Tokenizer:
    """Train sentence pieces, or words, for the letters of the sentences alone, with <unk>."""
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "</s>", "<pad>", "<unk>"]
    chosen = trainer(vocab_size=200, special_tokens=special, show_progress=False, **more)
    backend.train_from_iterator(SENTENCES, chosen)
    return backend


def test_lost_letters_are_named_by_every_call(tmp_path, caplog):
    lm = lingprob.load(save(tmp_path / "model", pieces(models.BPE())))
    pair = ("The 猫 sat.", "The 狗 sat.")
    for call, texts in ((lm.score, [*SENTENCES[:2], *pair]), (lm.compare, [pair])):
        caplog.clear()
        call(texts)
        assert "no token for '猫', '狗'" in caplog.text
    assert "2 texts, such as 'The 猫 sat.'" in caplog.text
    for call, named in ((lm.score, "'犬'"), (lm.tokens, "sentence 2")):
        with pytest.raises(LingprobError, match=f"{named}: .*no token for any letter"):
            call(["So it sat.", "犬"], context=["", "The cat sat on the mat."])
    with pytest.raises(LingprobError, match="'猫'"):
        lm.surprisal("The 猫 sat.")
    strict = lingprob.load(tmp_path / "model", unknown_letters="refuse")
    strict.score(SENTENCES[0])
    with pytest.raises(LingprobError, match="no token for '猫'"):
        strict.score("The 猫 sat.")


def test_decomposed_accents_have_the_surprisal_of_composed_ones(tmp_path):
    model = causal(hf.GPTNeoXConfig(**SMALL))
    lm = lingprob.load(save(tmp_path / "model", byte_level(normalizers.NFC()), model))
    for text in ("Le café était.", "Å Åse: été.", "Tiếng Việt ở đây."):
        forms = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
        composed, decomposed = (lm.surprisal(one)["surprisal"].tolist() for one in forms)
        assert decomposed == pytest.approx(composed, abs=1e-5)


def test_words_of_a_tokenizer_that_splits_none():
    """Gemma's gives every token the word 0, and others split words further than spaces do."""
    text = "The keys,  old."
    tokens = spans((1, 0, 3), (2, 3, 6), (3, 6, 8), (4, 8, 9), (5, 9, 13), (6, 13, 15))
    assert number_words(text, tokens, [0] * 6).tolist() == [0, 1, 1, 1, 2, 2]
    assert number_words(text, tokens, [0, 1, 1, 2, 3, 4]).tolist() == [0, 1, 1, 2, 3, 4]
    assert number_words(text, tokens, [0, None, None, 2, 3, 4]).tolist() == [0, 1, 2, 3, 4, 5]


def test_start_tokens_may_end_texts(tmp_path):
    backend = byte_level()
    backend.add_special_tokens(["<|endoftext|>"])
    config = hf.Qwen2Config(**{**GROUPED, "vocab_size": 321, "pad_token_id": None})
    folder = save(tmp_path / "model", backend, causal(config), eos_token="<|endoftext|>")
    lm = lingprob.load(folder)
    ids = ids_of(backend, "The cat sat.")
    table = lm.surprisal("The cat sat.")
    wanted = -plain_sum(folder, ids, 320) / np.log(2)
    assert table["surprisal_uncorrected"].sum() == pytest.approx(wanted, abs=1e-3)
    assert lm.compare([("The cat sat.", "The cat sit.")])["bos"][0] == "endoftext"
    assert np.isnan(lm.surprisal("The cat sat.", bos="none")["surprisal"][0])


@pytest.mark.parametrize(("language", "separator"), [("zh", ""), ("en", " "), ("ja", "")])
def test_contexts_are_joined_as_the_language_is_written(language, separator, tmp_path):
    context, target = "狗看见我。", "它叫了。"
    backend = byte_level(texts=[context + target] * 3 + list(SENTENCES))
    folder = save(tmp_path / "model", backend)
    entry = {
        "title": "Mine", "family": "own", "source": "local", "path": str(folder),
        "bos_policies": ["bos"], "language": language,
    }  # fmt: skip
    lm = lingprob.load("mine", config={"models": {"mine": entry}})
    whole = backend.encode(context + separator + target, add_special_tokens=False)
    first = next(at for at, (_, end) in enumerate(whole.offsets) if end > len(context))
    wanted = plain_sum(folder, whole.ids, first=first)
    assert lm.score(target, context=context)["logprob"][0] == pytest.approx(wanted, abs=1e-3)
    stated = lm.score(target, context=context, context_separator=" \n")["logprob"][0]
    assert stated != pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    ("model", "trainer", "more"),
    [
        (models.BPE(unk_token="<unk>"), trainers.BpeTrainer, {}),
        (models.Unigram(), trainers.UnigramTrainer, {"unk_token": "<unk>"}),
        (models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, {}),
    ],
)
def test_the_unknown_token_is_that_of_tokenizer_json(model, trainer, more, tmp_path, caplog):
    backend = pieces(model, trainer, **more)
    lm = lingprob.load(save(tmp_path / "model", backend))
    assert lm.tokenizer.unk_token == "<unk>"
    lm.score("The 猫 sat.")
    assert "no token for '猫'" in caplog.text
    with pytest.raises(LingprobError, match="the tokenizer has no token for '猫'"):
        lm.surprisal("The 猫 sat.")


def test_texts_without_tokens_are_named(tmp_path):
    backend = byte_level(normalizers.BertNormalizer())
    lm = lingprob.load(save(tmp_path / "model", backend))
    none, half = r"no token for any letter of '\\x00'", r"1, 'bad .*half a character"
    for call, said in (
        (lambda: lm.score("\x00"), none),
        (lambda: lm.compare([("\x00", "The cat")], bos="none"), none),
        (lambda: lm.tokens("\x00", bos="none"), none),
        (lambda: lm.score("bad \ud83d"), half),
        (lambda: lm.score("The cat", context="bad \ud83d"), half),
        (lambda: lm.compare([("bad \ud83d", "The cat")]), half),
        (lambda: lm.next_words("bad \ud83d"), half),
    ):
        with pytest.raises(LingprobError, match=said):
            call()


def test_a_last_space_counts_after_a_context(tmp_path):
    backend = byte_level()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    folder = save(tmp_path / "model", backend)
    first = len(ids_of(backend, "The mat."))
    wanted = plain_sum(folder, ids_of(backend, "The mat. The cat "), first=first)
    found = lingprob.load(folder).score("The cat ", context="The mat.", bos="bos")["logprob"][0]
    assert found == pytest.approx(wanted, abs=1e-3)


EXTRA = {
    "self_attn.q_proj.bias": (32,), "self_attn.q_norm.weight": (8,),
    "self_attn.q_proj.lora_A.default.weight": (2, 32), "mlp.up_proj.weight_scale": (1,),
    "self_attn.bias": None, "self_attn.rotary_emb.inv_freq": None,
}  # fmt: skip


@pytest.mark.parametrize("name", [*EXTRA, "v_head.summary.weight", "lm_head.bias"])
def test_weights_that_a_layer_would_need_are_refused(name, llama):
    whole = f"model.layers.1.{name}" if name in EXTRA else name
    change_weights(llama, lambda weights: weights | {whole: torch.ones(EXTRA.get(name) or (1,))})
    if EXTRA.get(name) or name == "lm_head.bias":
        with pytest.raises(LingprobError, match=rf"lack, .*{whole}"):
            load_language_model(llama)
    else:
        load_language_model(llama)


def test_marks_around_a_text_need_no_letter(tmp_path, caplog):
    backend = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<mask>": 2, "The": 3}))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    bert = hf.BertForMaskedLM(hf.BertConfig(**SMALL))
    folder = save(tmp_path / "plain", backend, bert, mask_token="<mask>", model_max_length=9)
    lm = load_masked_model(folder)
    assert (lm.before, lm.after, lm.context_window) == ((), (), 9)
    assert "puts no marks" in caplog.text
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    backend.save(str(folder / "tokenizer.json"))
    assert (load_masked_model(folder).before, load_masked_model(folder).after) == ((0,), (1,))
    with pytest.raises(LingprobError, match=r"cannot read a text .*Missing \[UNK\]"):
        lingprob.load(folder).score("The cat")


def test_no_call_reads_a_model_that_looks_ahead(tmp_path):
    model = hf.BertLMHeadModel(hf.BertConfig(**SMALL, is_decoder=False))
    lm = lingprob.load(save(tmp_path / "model", byte_level(), model))
    for call in (
        lambda: lm.score(".The cat.", bos="none"),  # its first token is its last
        lambda: lm.score([*SENTENCES[:3]]),  # which the engine scores
        lambda: lm.tokens("The cat."),
        lambda: lm.next_tokens("The cat"),
        lambda: lm.next_words("The cat"),
    ):
        with pytest.raises(LingprobError, match="not a causal model as loaded"):
            call()


def test_dynamic_frequencies_are_those_of_each_text(tmp_path):
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0,
            "original_max_position_embeddings": 8}  # fmt: skip
    backend = byte_level()
    model = causal(hf.LlamaConfig(**GROUPED, rope_parameters=rope))
    folder = save(tmp_path / "model", backend, model)
    lm = lingprob.load(folder)
    wanted = plain_sum(folder, ids_of(backend, SENTENCES[0]))
    for found in (lm.score, lm.tokens, lm.score):
        found(" ".join(SENTENCES[2:4]), bos="bos")
        logprobs = found(SENTENCES[0], bos="bos")["logprob"]
        assert logprobs.sum() == pytest.approx(wanted, abs=0.01)


def test_letters_that_look_like_signs_of_spaces(tmp_path):
    """Sentence pieces may have the Maltese letter Ġ, with which byte-level ones write a space."""
    backend = pieces(models.BPE(unk_token="<unk>"), initial_alphabet=["Ġ"])
    names = backend.get_vocab()
    lm: Any = lingprob.load(save(tmp_path / "model", backend))
    found = space_tokens(lm.tokenizer, lm.lm.vocabulary_size).tolist()
    assert "Ġ" in names
    assert found == sorted(number for name, number in names.items() if name.startswith("▁"))


def test_damaged_weights_are_named(tmp_path):
    model = causal(hf.LlamaConfig(**GROUPED))
    torch.nn.init.constant_(model.model.norm.weight, float("nan"))
    lm = lingprob.load(save(tmp_path / "model", byte_level(), model))
    for call in (lm.score, lm.tokens, lm.next_tokens):
        with pytest.raises(LingprobError, match="not finite"):
            call("The cat sat.")


@pytest.mark.parametrize(
    ("name", "content"), [("tokenizer", '{"model": {"type": "New"}}'), ("tokenizer_config", "{")]
)
def test_files_that_cannot_be_read_are_named(name, content, llama):
    (llama / f"{name}.json").write_text(content)
    with pytest.raises(LingprobError, match=rf"ValueError: {name}\.json: "):
        lingprob.load(llama)


def test_odd_wishes_of_config_json(llama, caplog):
    with pytest.raises(LingprobError, match=r"safetensors' is neither .*not a file in it"):
        lingprob.load(llama / "model.safetensors")
    wanted = lingprob.load(llama).score(SENTENCES[:2])["logprob"].tolist()
    edit(llama / "config.json", architectures=["MistralBiForMNTP"], return_dict=False)
    found = lingprob.load(llama).score(SENTENCES[:2])["logprob"].tolist()
    assert found == pytest.approx(wanted, abs=1e-5)
    assert "does not know the architecture MistralBiForMNTP" in caplog.text
    edit(llama / "config.json", attn_implementation="flash_attention_2")
    with pytest.raises(LingprobError, match=r"needs a package .*FlashAttention2"):
        lingprob.load(llama)


def test_sentences_with_the_same_tokens_are_named(tmp_path, caplog):
    backend = byte_level(normalizers.Lowercase())
    lm = lingprob.load(save(tmp_path / "model", backend))
    lm.compare([("The cat", "The Cat"), ("The cat", "The mat")])
    assert "1 of 2 pairs, such as 'The cat' and 'The Cat'" in caplog.text


def test_first_words_of_sentence_pieces(tmp_path):
    """They begin with a piece for a space, although no space precedes them."""
    backend = pieces(models.BPE(unk_token="<unk>"))
    backend.decoder = decoders.Metaspace()
    lm = lingprob.load(save(tmp_path / "model", backend))
    for context in ("", "The cat"):
        words = lm.next_words(context, top=5)
        again = lm.surprisal([f"{context} {word}".strip() for word in words["word"]])
        wanted = again.groupby("text_id")["surprisal"].last()
        assert words["surprisal"].tolist() == pytest.approx(wanted.tolist(), abs=1e-3)
        assert words["surprisal"].is_monotonic_increasing
