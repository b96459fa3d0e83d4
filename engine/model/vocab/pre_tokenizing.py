"""How byte-level BPE vocabularies cut text into words before merging: patterns for each ``tokenizer.ggml.pre``.

The patterns are applied one after the other to all pieces; what a pattern does not match stays a piece of its own.
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["PreTokenizer", "find_pretokenizer"]

CONTRACTION = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
UPPER, LOWER = r"(?:(?=\p{L})[^a-z])", r"(?:(?=\p{L})[^A-Z])"
CASED_HEAD = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+"
CASED_TAIL = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
SYMBOLS_SLASH = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
CJK = r"(?:(?!\s)[一-龥ࠀ-一가-퟿])+"
KANA = "[一-龥぀-ゟ゠-ヿ]+"
CLAUSES = " ?[^(\\s|.,!?…。，、।۔،)]+"
ASCII_SYMBOL_WORD = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
LATIN = (
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-"
    "ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼ"
    "ℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
)


class PreTokenizer(Struct, frozen=True):
    """``whole_words``: a word that is itself a token is not merged from its letters. ``add_bos``: the model's habit.

    ``has_bos``: where a file names no first token, there is a default.
    """

    patterns: tuple[str, ...]
    whole_words: bool = False
    add_bos: bool = False
    has_bos: bool = True


def _modern(digits: str, contraction: str = CONTRACTION) -> str:
    return f"{contraction}|{LETTERS}|{digits}|{SYMBOLS}|{SPACES}"


def _stairs(*lengths: int) -> str:
    return "|".join([*(rf"\s{{{length}}}(?!\S)" for length in lengths), r"\s{1,2}(?!\S)|\s"])


GPT2 = PreTokenizer((WORDS,))
SMOLLM = PreTokenizer((r"\p{N}", WORDS))
LLAMA3 = PreTokenizer((_modern(r"\p{N}{1,3}"),), whole_words=True, add_bos=True)
SMAUG = PreTokenizer(LLAMA3.patterns)
CHATGLM = PreTokenizer(LLAMA3.patterns, has_bos=False)
GLM4 = PreTokenizer(LLAMA3.patterns, whole_words=True, has_bos=False)
QWEN2 = PreTokenizer((_modern(r"\p{N}"),))
DEFAULT = PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", WORDS, r"\p{N}+", "[0-9][0-9][0-9]"))
FALCON = PreTokenizer((r"[\p{P}\$\+<=>\^~\|`]+", WORDS, "[0-9][0-9][0-9]"))
TEKKEN = PreTokenizer((rf"{CASED_HEAD}|{CASED_TAIL}|\p{{N}}|{SYMBOLS_SLASH}|{SPACES}",), whole_words=True, add_bos=True)
GPT4O = PreTokenizer(
    (rf"{CASED_HEAD}{CONTRACTION}?|{CASED_TAIL}{CONTRACTION}?|\p{{N}}{{1,3}}|{SYMBOLS_SLASH}|{SPACES}",)
)
DEEPSEEK = PreTokenizer(
    ("[\r\n]", LATIN, r"\s?[!-/:-~！-／：-～‘-‟、。]+", r"\s+$", CJK, r"\p{N}+"),
)
DEEPSEEK_CODER = PreTokenizer(("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"))
DEEPSEEK3 = PreTokenizer(
    (
        r"\p{N}{1,3}",
        KANA,
        rf"{ASCII_SYMBOL_WORD}|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+[\r\n]*|{SPACES}",
    )
)
SEED_CODER = PreTokenizer(
    (rf"{CONTRACTION}|{LETTERS}|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{SPACES}",),
)
BAILING = PreTokenizer(
    (
        r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|"
        rf"{LETTERS}|\p{{N}}|{SYMBOLS}|\s*[\r\n]|\s+(?!\S)|\s+",
    )
)
PORO, VIKING = PreTokenizer((CLAUSES,)), PreTokenizer((CLAUSES, r"\p{N}"))
MINICPM5 = PreTokenizer((r"\p{N}{1,3}", _modern(r"\p{N}+")), whole_words=True)
JAIS2 = PreTokenizer(
    (f"{CONTRACTION}|{LETTERS}|\\p{{N}}{{1,3}}|{SYMBOLS}|\\s*[\\r\\n]+|" + _stairs(512, 256, 128, 64, 32, 16, 8, 4),),
)
QWEN35 = PreTokenizer(
    (
        rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}|"
        rf" ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{SPACES}",
    )
)
LAGUNA = PreTokenizer((r"[^\n]+|[\n]+", *QWEN2.patterns))
EXAONE_MOE = PreTokenizer(
    (
        rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
    )
)
SPARK = PreTokenizer(
    (
        r"\p{N}{1,3}",
        KANA,
        rf"{ASCII_SYMBOL_WORD}|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+| ?[\p{{P}}\p{{S}}]+|[\r\n]|\s+(?!\S)|\s+",
        r"\p{N}",
    )
)
CHAMELEON = PreTokenizer(
    (
        "<sentinel:[0-9]+>",
        "(?:IMGIMG)(?:(?:A|B|C|D|E|F|G|H|I){1,4})Z",
        r"[\t\n]|    |  ",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        WORDS,
    ),
    add_bos=True,
)
UFAKZEKA = PreTokenizer((rf"{LETTERS}|\p{{N}}|{SYMBOLS}|{SPACES}",))

FAMILIES: tuple[tuple[PreTokenizer, str], ...] = (
    (DEFAULT, "default"),
    (GPT2, "gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert jina-v1-en"),
    (GPT2, "jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4"),
    (SMOLLM, "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2"),
    (LLAMA3, "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"),
    (SMAUG, "smaug-bpe dbrx"),
    (CHATGLM, "chatglm-bpe"),
    (GLM4, "glm4 glm5"),
    (QWEN2, "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2"),
    (FALCON, "falcon"),
    (TEKKEN, "tekken"),
    (GPT4O, "gpt-4o llama4 kanana2 talkie minimax-m2"),
    (DEEPSEEK, "deepseek-llm"),
    (DEEPSEEK_CODER, "deepseek-coder"),
    (DEEPSEEK3, "deepseek-v3 hunyuan-dense joyai-llm hy_v4"),
    (SEED_CODER, "seed-coder"),
    (BAILING, "bailingmoe bailingmoe2 llada-moe"),
    (PORO, "poro-chat bloom gpt3-finnish"),
    (VIKING, "viking"),
    (MINICPM5, "minicpm5"),
    (UFAKZEKA, "ufakzeka"),
    (JAIS2, "jais-2"),
    (QWEN35, "qwen35"),
    (LAGUNA, "laguna"),
    (EXAONE_MOE, "exaone-moe"),
    (SPARK, "spark2_5"),
    (CHAMELEON, "chameleon"),
)
BY_NAME = {name: pre for pre, names in FAMILIES for name in names.split()}


def find_pretokenizer(name: str) -> PreTokenizer | None:
    """By the name that a model file gives in ``tokenizer.ggml.pre``; "" means the default, None an unknown one."""
    return BY_NAME.get(name or "default")
