"""Tokens and sampling against a real llama-server with the same model."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from slotview.engine.model.gguf.file import load_model_file
from slotview.engine.model.interface import Tokenizer
from slotview.engine.model.sampling import Sampler, probabilities
from slotview.engine.model.sampling_params import SamplingParams
from slotview.engine.model.vocab.tokenizer import load_tokenizer
from tests.real_server import LlamaServer, StartServer, llama_server, model_path

__all__ = ["llama_server"]
pytestmark = pytest.mark.llama_server

ODD_TEXTS = ("", "\x00", "\ufeffbom", "a" * 3000, "\n" * 50, " " * 70, "\ufffd", "\U0010ffff", "▁▁ a▁b", "Ġhello ĊĉâĢ")
POOLS = (
    list("abcXYZ019 .,'\"\n\t-_<>|é日👍½"),
    list("  \n\r\t\u00a0\u3000\u2028\u0085\x0b\x0c ab"),
    list("0123456789٣½²Ⅷ,. "),
    ["👩‍👩‍👧", "🏳️‍🌈", "e\u0301", "\u200d", "\ufe0f", "🇩🇪", "日本", "한국", "ไทย", "हिन्दी", "עב", "ع", " ", "x"],
    ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<reponame>", "<|im_start", "im_end|>", "</s>", " ", "a", "\n"],
    ["'s", "'S", "'re", "'LL", " 'd", "n't", "I'", "'", " "],
    list("_-=+*/\\()[]{}#@!$%^&~`:;?<>|.,\"' a1"),
)
CHAINS: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0.0},
    {"temperature": 2.5},
    {"top_k": 5},
    {"top_k": 0},
    {"top_k": 0, "top_p": 1.0, "min_p": 0.0},
    {"top_p": 0.3, "min_keep": 4},
    {"min_p": 0.5, "min_keep": 3},
    {"typical_p": 0.5},
    {"typical_p": 0.9, "top_k": 0},
    {"top_n_sigma": 1.0, "top_k": 0},
    {"top_n_sigma": 2.0, "min_p": 0.0, "top_p": 1.0},
    {"xtc_probability": 1.0, "xtc_threshold": 0.05},
    {"xtc_probability": 1.0, "xtc_threshold": 0.02, "min_keep": 3},
    {"dynatemp_range": 0.5},
    {"temperature": 1.0, "dynatemp_range": 1.0, "dynatemp_exponent": 2.0},
    {"presence_penalty": 1.0, "frequency_penalty": 0.7},
    {"frequency_penalty": -0.5, "repeat_last_n": 3},
    {"dry_multiplier": 0.8},
    {"dry_multiplier": 3.0, "dry_allowed_length": 1, "dry_base": 2.0},
    {"dry_multiplier": 2.0, "dry_sequence_breakers": (" mat",)},
    {"dry_multiplier": 2.0, "dry_sequence_breakers": ("the m", "b c")},
    {"samplers": ("temperature", "top_p"), "temperature": 3.0, "top_p": 0.5},
    {"samplers": ("top_p", "temperature"), "temperature": 3.0, "top_p": 0.5},
    {"samplers": (), "temperature": 0.0},
    {"samplers": ("top_k", "penalties", "dry"), "dry_multiplier": 1.0, "presence_penalty": 1.0},
    {"ignore_eos": True},
    {"logit_bias": ((5, 3.0), (7, -2.0))},
    {"samplers": ("infill",)},
    {"samplers": ("top_k", "top_p", "infill", "temperature"), "top_k": 5, "temperature": 0.5},
    {"samplers": ("adaptive_p",), "adaptive_target": -1.0},
    {"mirostat": 2, "mirostat_tau": 1.0},
    {"mirostat": 2, "mirostat_tau": 3.0, "temperature": 1.3},
    {"mirostat": 1, "mirostat_tau": 2.0},
)
UNUSUAL_CHAINS: tuple[dict[str, Any], ...] = (
    {"top_k": 3, "min_keep": 10},
    {"samplers": ("top_k", "adaptive_p"), "adaptive_target": 0.3, "top_k": 20},
)
"""Chains in which top-k must not heed min_keep, and in which adaptive-p shapes what is left."""
PROMPTS = ("The cat sat on the mat. The cat sat on the", "a b c d a b c d a b", "Question: what is a slot?\nAnswer:")


def texts(n: int) -> list[str]:
    rng = random.Random(1)
    everything = [part for pool in POOLS for part in pool]
    pools = [rng.choice(POOLS) if rng.random() < 0.7 else everything for _ in range(n)]
    found = ["".join(rng.choice(pool) for _ in range(rng.randint(1, 40))) for pool in pools]
    letters = [chr(rng.choice((rng.randint(0xA0, 0xD7FF), rng.randint(0xE000, 0x1FFFF)))) for _ in range(10 * n)]
    return [*ODD_TEXTS, *found, *("".join(letters[i : i + 10]) for i in range(0, len(letters), 10))]


@dataclass(frozen=True)
class Pair:
    server: LlamaServer
    tokenizer: Tokenizer

    def encode(self, text: str, **flags: bool) -> list[int]:
        answer: list[int] = self.server.post("/tokenize", {"content": text, **flags})["tokens"]
        return answer

    def chances(self, prompt: list[int], **fields: object) -> Mapping[int, float]:
        """The server's probability of each next token: raw logarithms, or what the chain leaves."""
        body = {"prompt": prompt, "n_predict": 1, "n_probs": self.tokenizer.n_vocab, "cache_prompt": False, **fields}
        entry = self.server.post("/completion", body)["completion_probabilities"][0]
        if "top_probs" in entry:
            return {one["id"]: one["prob"] for one in entry["top_probs"] if one["prob"] > 0}
        return {one["id"]: one["logprob"] for one in entry["top_logprobs"]}


@pytest.fixture
def pair(llama_server: StartServer) -> Pair:
    return Pair(llama_server("-c", "1024", "-np", "1"), load_tokenizer(load_model_file(model_path())))


def test_texts_become_the_servers_tokens(pair: Pair) -> None:
    for text in texts(300):
        for flags in ({"add_special": False, "parse_special": True}, {"add_special": True, "parse_special": False}):
            assert pair.tokenizer.encode(text, **flags).tolist() == pair.encode(text, **flags), (text, flags)


def test_every_token_is_spelled_like_the_servers(pair: Pair) -> None:
    asked = {"content": list(range(pair.tokenizer.n_vocab)), "with_pieces": True}
    for token in pair.server.post("/tokenize", asked)["tokens"]:
        piece = token["piece"]
        spelled = piece.encode() if isinstance(piece, str) else bytes(piece)
        assert pair.tokenizer.piece(token["id"], special=True) == spelled, token


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_chain_leaves_what_the_servers_leaves(pair: Pair, prompt: str) -> None:
    assert_same_chances(pair, prompt, (*CHAINS, *UNUSUAL_CHAINS))


def assert_same_chances(pair: Pair, prompt: str, chains: tuple[dict[str, Any], ...]) -> None:
    tokens = pair.encode(prompt, add_special=True)
    raw = pair.chances(tokens, temperature=0)
    logits = np.array([raw[token] for token in range(pair.tokenizer.n_vocab)], np.float32)
    for chain in chains:
        theirs = pair.chances(tokens, post_sampling_probs=True, seed=1, **chain)
        ours = left_after(chain, pair.tokenizer, tokens, logits)
        for token in ours.keys() | theirs.keys():
            assert ours.get(token, 0.0) == pytest.approx(theirs.get(token, 0.0), abs=2e-4), (chain, token)


def left_after(
    chain: Mapping[str, Any], tokenizer: Tokenizer, tokens: list[int], logits: NDArray[np.float32]
) -> Mapping[int, float]:
    params = SamplingParams(seed=1, n_probs=len(logits), post_sampling_probs=True, **chain)
    sampler = Sampler(params, tokenizer)
    sampler.prime(tokens)
    return dict(probabilities(logits, sampler, sampler.sample(logits))[1])
