"""Foreign model files on a real llama-server and here: networks, quantized weights, vocabularies."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from slotview.engine.embedded.loading import build_core, facts_of_file
from slotview.engine.flags import parse_flags
from slotview.engine.model.gguf.file import load_model_file
from slotview.engine.model.interface import SequenceRun
from slotview.engine.model.load import load_model
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.model.vocab.byte_letters import BYTE_OF
from slotview.engine.model.vocab.pre_tokenizing import FAMILIES
from slotview.engine.model.vocab.tokenizer import load_tokenizer
from slotview.engine.slots.queue.task import Final, TaskParams
from tests.real_server import LlamaServer, StartServer, llama_server

from .crossing_vocabulary import HARD_TEXTS, crossing_vocabulary
from .network_file import network, write_network
from .reference import fused, longrope_factors, random_biases, random_weights
from .small_file import BPE, SPM, vocabulary_keys

__all__ = ["llama_server"]
pytestmark = pytest.mark.llama_server

EXACT = ("-c", "256", "-np", "1", "-ctk", "f32", "-ctv", "f32", "-fa", "off", "-lv", "4")
PROMPT = [1, *range(20, 60)]
SCALING = "llama.rope.scaling."
PROBS: Mapping[str, Any] = {"ignore_eos": True, "n_probs": 5}
NETWORKS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tied": ({}, {}),
    "untied, one KV head, wide base": ({"tied": False, "n_head_kv": 1, "rope_base": 500000.0}, {}),
    "a KV head each, narrow heads": ({"n_head_kv": 4, "head_dim_k": 32, "head_dim_v": 32, "rope_dim": 32}, {}),
    "biases": ({}, {}),
    "Q, K and V in one": ({"tied": False}, {}),
    "biases, Q, K and V in one": ({"tied": False}, {}),
    "longrope, short": ({"tied": False}, {"type": "longrope", "factor": 2.0, "original_context_length": 256}),
    "longrope, long": ({"tied": False}, {"type": "longrope", "original_context_length": 255, "attn_factor": 1.2}),
    "longrope without factors": ({}, {"type": "longrope", "factor": 2.0, "original_context_length": 64}),
    "frequencies": ({"has_rope_freqs": True}, {}),
    "one of four experts": ({"n_expert": 4, "n_expert_used": 1}, {}),
    "two of eight experts": ({"n_expert": 8, "n_expert_used": 2, "tied": False}, {}),
    "all of three experts": ({"n_expert": 3, "n_expert_used": 3}, {}),
    "linear": ({}, {"type": "linear", "factor": 4.0}),
    "no type": ({}, {"factor": 0.5, "attn_factor": 1.2}),
    "type none": ({}, {"type": "none", "factor": 4.0, "attn_factor": 1.5}),
    "yarn": ({}, {"type": "yarn", "factor": 4.0, "original_context_length": 128, "attn_factor": 1.3}),
    "yarn with keys of other architectures": (
        {"has_rope_freqs": True},
        {"type": "yarn", "factor": 4.0, "yarn_beta_fast": 8.0, "yarn_log_multiplier": 0.7, "yarn_ext_factor": 0.5},
    ),
}
QUANTIZED = ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K_L", "Q4_K_M", "Q5_K_S", "Q6_K")


def our_logprobs(path: Path, n: int) -> tuple[list[int], NDArray[np.float64]]:
    """The n best next tokens, one after the other, and the logarithms of all tokens' chances for the first."""
    model = load_model(path)
    kv = model.new_kv(1, 256, "f32", "f32")
    tokens, first, start = list(PROMPT), np.empty(0), 0
    for _ in range(n):
        run = SequenceRun(np.array(tokens[start:], np.int32), start, 0, np.arange(len(tokens)), 0, wants_logits=True)
        logits = model.forward([run], kv)[0].astype(np.float64)
        if not start:
            first = logits - logits.max()
            first -= np.log(np.exp(first).sum())
        start = len(tokens)
        tokens.append(int(logits.argmax()))
    return tokens[len(PROMPT) :], first


def their_logprobs(server: LlamaServer, n: int) -> tuple[list[int], NDArray[np.float64]]:
    body = {"prompt": PROMPT, "n_predict": n, "temperature": 0, "n_probs": 10**6, "return_tokens": True}
    answer = server.post("/completion", body)
    ranked = answer["completion_probabilities"][0]["top_logprobs"]
    first = np.empty(len(ranked))
    first[[one["id"] for one in ranked]] = [one["logprob"] for one in ranked]
    return answer["tokens"], first


def write_kind(path: Path, kind: str) -> Path:
    """Write the network of that name."""
    changes, scaling = NETWORKS[kind]
    h = network(**changes)
    weights = random_weights(h) | (random_biases(h) if "biases" in kind else {})
    weights |= longrope_factors(h) if "longrope," in kind else {}
    weights = fused(weights) if "in one" in kind else weights
    return write_network(path, h, weights=weights, **{SCALING + name: value for name, value in scaling.items()})


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_gives_the_servers_tokens(llama_server: StartServer, tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "network.gguf", kind)
    theirs, their_first = their_logprobs(llama_server(*EXACT, model=path), 12)
    ours, our_first = our_logprobs(path, len(theirs))
    assert ours == theirs
    np.testing.assert_allclose(our_first, their_first, atol=5e-4)


@pytest.mark.parametrize("kind", ["linear", "no type", "type none", "yarn", "longrope, short"])
def test_the_log_tells_the_servers_stretching(llama_server: StartServer, tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "network.gguf", kind)
    log = llama_server(*EXACT, "-lv", "5", model=path).log_after("model loaded")
    theirs = re.findall(r"llama_context: freq_(base|scale) *= (\S+)", log)
    plan = build_core(parse_flags(["--model", str(path), "-c", "256"]), load_model(path), 0).plan
    ours = [found for line in plan.log for found in re.findall(r"freq_(base|scale) *= (\S+)", line.text)]
    assert ours == theirs
    assert facts_of_file(str(path)).rope_scale == pytest.approx(float(dict(theirs)["scale"]))


@pytest.mark.parametrize("kind", ["linear", "type none", "yarn", "longrope, long"])
def test_shifted_keys_weigh_what_they_do_on_the_server(llama_server: StartServer, tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "network.gguf", kind)
    flags = ("-c", "256", "-np", "1", "-ctk", "f32", "-ctv", "f32", "--context-shift")
    answers = assert_same_generation(llama_server(*EXACT, *flags, model=path), path, flags, [PROMPT], 300)
    assert answers[0]["truncated"]


@pytest.mark.parametrize("pool", ["--no-kv-unified", "--kv-unified"])
def test_slots_with_different_experts_generate_together(llama_server: StartServer, tmp_path: Path, pool: str) -> None:
    """Slots of 256 tokens are within LongRoPE's original context, a pool of 1,024 for all of them is beyond it."""
    h = network(n_expert=8, n_expert_used=2, tied=False)
    weights = random_weights(h) | longrope_factors(h)
    keys: dict[str, Any] = {SCALING + "type": "longrope", SCALING + "original_context_length": 256}
    path = write_network(tmp_path / "network.gguf", h, weights=weights, **keys)
    flags = ("-c", "1024", "-np", "4", "-ctk", "f32", "-ctv", "f32", pool)
    prompts = [PROMPT, [1, *range(60, 64)], [1, *range(3, 200)], [1, *range(100, 160)]]
    assert_same_generation(llama_server(*EXACT, *flags, model=path), path, flags, prompts, 12)


def assert_same_generation(
    server: LlamaServer, path: Path, flags: tuple[str, ...], prompts: list[list[int]], n: int
) -> list[Any]:
    """Compare the five best of all next tokens, all prompts at the same time; returns the server's answers."""
    bodies = [{"prompt": prompt, "n_predict": n, "temperature": 0, **PROBS} for prompt in prompts]
    with ThreadPoolExecutor(len(prompts)) as askers:
        answers = list(askers.map(partial(server.post, "/completion"), bodies))
    core = build_core(parse_flags(["--model", str(path), *flags]), load_model(path), 0)
    params = TaskParams(n_predict=n, sampling=SamplingParams(temperature=0.0, **PROBS))
    tasks = [core.post([np.array(prompt, np.int32)], params, 0)[0] for prompt in prompts]
    while not core.is_idle:
        core.step(0)
    finals = {result.task: result for result in core.take_results() if isinstance(result, Final)}
    for task, answer in zip(tasks, answers, strict=True):
        for our, their in zip(finals[task].probs, answer["completion_probabilities"], strict=True):
            best = [(one["id"], one["logprob"]) for one in their["top_logprobs"]]
            assert [token for token, _, _ in our.top] == [token for token, _ in best]
            np.testing.assert_allclose([value for _, _, value in our.top], [value for _, value in best], atol=1e-3)
    return answers


@pytest.mark.parametrize("name", ["Q8_0", "Q4_K_M"])
def test_quantized_experts_are_those_of_a_server_with_the_same_weights_in_float32(
    llama_server: StartServer, tmp_path: Path, name: str
) -> None:
    exact, path, decoded = (tmp_path / f"{kind}.gguf" for kind in ("exact", "quantized", "decoded"))
    h = network(tied=False, n_expert=4, n_expert_used=2)
    write_network(exact, h)
    quantize(exact, path, name)
    tensors = gguf.GGUFReader(path).tensors
    assert any(
        one.name.endswith("_exps.weight") and one.tensor_type != gguf.GGMLQuantizationType.F32 for one in tensors
    )
    weights = {one.name: gguf.quants.dequantize(one.data, one.tensor_type) for one in tensors}
    server = llama_server(*EXACT, model=write_network(decoded, h, weights=weights))
    np.testing.assert_allclose(our_logprobs(path, 1)[1], their_logprobs(server, 1)[1], atol=5e-4)


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_weights_are_read_as_llama_cpp_reads_them(
    llama_server: StartServer, tmp_path: Path, name: str
) -> None:
    """The server rounds activations to eight bits where weights are quantized, so its logits are near, not equal."""
    exact, path = tmp_path / "exact.gguf", tmp_path / "quantized.gguf"
    write_network(exact, network(tied=False, n_ff=544, n_layer=2))
    quantize(exact, path, name)
    file = load_model_file(path)
    for tensor in gguf.GGUFReader(path).tensors:
        expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        np.testing.assert_array_equal(file.tensor(tensor.name), expected, err_msg=tensor.name)
    server = llama_server(*EXACT, model=path)
    assert file.ftype == server.get("/props")["model_ftype"]
    difference = our_logprobs(path, 1)[1] - their_logprobs(server, 1)[1]
    assert np.abs(difference).max() < (0.01 if name == "F16" else 0.25)


def quantize(source: Path, target: Path, name: str) -> None:
    tool = Path(os.environ["LLAMA_SERVER_BIN"]).with_name("llama-quantize")
    if not tool.is_file():
        pytest.skip("no llama-quantize beside llama-server")
    subprocess.run([tool, source, target, name, "1"], check=True, capture_output=True)


def vocabulary_file(path: Path, keys: Mapping[str, object], name: str | None = None) -> Path:
    n_vocab = len(keys["tokenizer.ggml.tokens"])  # type: ignore[arg-type]
    sizes = {"n_layer": 1, "n_embd": 32, "n_head": 2, "n_head_kv": 2, "n_ff": 32, "n_vocab": n_vocab}
    h = network(head_dim_k=16, head_dim_v=16, rope_dim=16, **sizes)
    return write_network(path, h, vocabulary=keys, general__name=name)


def assert_same_vocabulary(server: LlamaServer, path: Path, texts: list[str]) -> None:
    tokenizer = load_tokenizer(load_model_file(path))
    for text in texts:
        for flags in ({"add_special": False, "parse_special": True}, {"add_special": True, "parse_special": False}):
            theirs = server.post("/tokenize", {"content": text, **flags})["tokens"]
            assert tokenizer.encode(text, **flags).tolist() == theirs, (text, flags)
    asked = {"content": list(range(tokenizer.n_vocab)), "with_pieces": True}
    for token in server.post("/tokenize", asked)["tokens"]:
        piece = token["piece"]
        assert tokenizer.piece(token["id"], special=True) == (
            piece.encode() if isinstance(piece, str) else bytes(piece)
        )
    ends = re.findall(r"print_info: EOG token\s+= (\d+)", server.log_after("model loaded"))
    assert sorted(tokenizer.eog) == sorted(map(int, ends))
    props = server.get("/props")
    for token, shown in ((tokenizer.bos, props["bos_token"]), (tokenizer.eos, props["eos_token"])):
        assert shown == ("" if token is None else tokenizer.piece(token, special=True).decode())


@pytest.mark.parametrize("name", [names.split()[0] for _, names in FAMILIES])
def test_text_is_cut_into_the_servers_words(llama_server: StartServer, tmp_path: Path, name: str) -> None:
    path = vocabulary_file(tmp_path / "words.gguf", crossing_vocabulary() | {"tokenizer.ggml.pre": name})
    assert_same_vocabulary(llama_server(*EXACT, model=path), path, ["\n".join(HARD_TEXTS), *HARD_TEXTS[::8]])


SPECIAL = [("[X]", 4), ("<|im_end|>", 3), ("  y", 4), ("unused", 5), ("ab ab", 4), ("<odd>", 0), ("\n\n", 4)]
ENDS = ["<|end|>", "[EOS]", "<|fim_pad|>", "<reponame>", "▁<PRE>", "<SUF>", "<|channel|>", "_<EOT>", "<|eom_id|>"]
SPMS: Mapping[str, tuple[list[tuple[str, int]], dict[str, object], str | None]] = {
    "plain": ([], {}, None),
    "special tokens": (SPECIAL, {}, None),
    "no space before": (SPECIAL, {"add_space_prefix": False}, None),
    "ends": ([(text, 1) for text in ENDS], {"add_bos_token": False, "add_eos_token": True}, None),
    "named": (SPECIAL, {"bos_token_id": 5, "eos_token_id": 4000, "eot_token_id": 7, "prefix_token_id": 9}, None),
    "neither scores nor types": (SPECIAL, {"scores": None, "token_type": None}, None),
    "tokens across words": ([("a▁b", 1), ("▁▁", 1), ("c▁", 1)], {}, None),
    "phi-3": ([*SPECIAL, ("<|endoftext|>", 3)], {}, "A Phi-3"),
    "gemma": ([("<|tool_response>", 3), ("<eos>", 3), ("", 1)], {}, "phi4"),
    "harmony": ([(text, 3) for text in ("<|return|>", "<|call|>", "<|end|>", "<|start|>")], {}, None),
}
SPM_PARTS = [*"abcdé日.x\n\t<>", "ab", "abc", " ", "  ", "   ", "▁", "<s>", "</s>", "🦙", "<0x41>", "\x00"]


@pytest.mark.parametrize("kind", SPMS)
def test_a_sentencepiece_vocabulary_gives_the_servers_tokens(
    llama_server: StartServer, tmp_path: Path, kind: str
) -> None:
    more, keys, name = SPMS[kind]
    found = vocabulary_keys([*SPM, *more]) | {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    path = vocabulary_file(tmp_path / "spm.gguf", found, name)
    parts = [*SPM_PARTS, *(text for text, _ in more if text)]
    assert_same_vocabulary(llama_server(*EXACT, model=path), path, random_texts(parts, 60))


LETTERS = [("<|endoftext|>", 3), ("[T]", 4), *((letter, 1) for letter in BYTE_OF), ("abc", 1), ("Ġa", 1)]
BPES: Mapping[str, tuple[list[tuple[str, int]], dict[str, object]]] = {
    "few letters": (list(BPE), {}),
    "a merge without its token": (LETTERS, {}),
    "a merge twice": ([*LETTERS, ("ab", 1)], {"merges": ["Ġ a", "a b", "ab c", "Ġ a"]}),
    "odd merges": ([*LETTERS, ("ab", 1)], {"merges": ["x y", "q zz", "ab", "", "a b c", " ", "a b", "ab c"]}),
    "first and last": (LETTERS, {"add_bos_token": True, "add_eos_token": True, "eos_token_id": 0}),
    "odd tokens": ([*LETTERS, ("日本", 1), ("a b", 1), ("<0x41>", 6), ("c ", 4), ("bb", 5)], {}),
}
BPE_PARTS = [*"abcxdé日1\n", "ab", "abc", " ", "  ", "[T]", "<|endoftext|>", "<0x41>"]


@pytest.mark.parametrize("kind", BPES)
def test_a_byte_level_vocabulary_gives_the_servers_tokens(llama_server: StartServer, tmp_path: Path, kind: str) -> None:
    tokens, keys = BPES[kind]
    found = vocabulary_keys(tokens) | {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    path = vocabulary_file(tmp_path / "bpe.gguf", found)
    assert_same_vocabulary(llama_server(*EXACT, model=path), path, random_texts(BPE_PARTS, 60))


def random_texts(parts: list[str], n: int) -> list[str]:
    rng = random.Random(3)
    return ["", *parts, *("".join(rng.choice(parts) for _ in range(rng.randint(2, 30))) for _ in range(n))]
