"""llama-server's command line and environment."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from slotview.engine.flags import EngineFlags, FlagError, parse_flags
from slotview.engine.flags.table import FLAGS, REFUSED


def parse(line: str, **environ: str) -> EngineFlags:
    return parse_flags(line.split(), environ)


def test_short_long_and_underscored_names_are_the_same() -> None:
    assert parse("-c 512 -np 2") == parse("--ctx-size 512 --parallel 2") == parse("--ctx_size=512 --parallel=2")


def test_leaving_the_context_out_differs_from_writing_zero() -> None:
    assert parse("").launch.ctx_size is None
    assert parse("-c 0").launch.ctx_size == 0


def test_an_option_beats_the_environment_and_says_so() -> None:
    flags = parse("-c 512", LLAMA_ARG_CTX_SIZE="4096")
    assert flags.launch.ctx_size == 512
    assert "LLAMA_ARG_CTX_SIZE environment variable is set" in flags.warnings[0]
    assert parse("", LLAMA_ARG_CTX_SIZE="4096").launch.ctx_size == 4096


@pytest.mark.parametrize(
    ("word", "value"), [("on", True), ("1", True), ("enabled", True), ("false", False), ("off", False)]
)
def test_boolean_words_of_the_environment(word: str, value: bool) -> None:
    assert parse("", LLAMA_ARG_KV_UNIFIED=word).launch.kv_unified is value


def test_a_wrong_boolean_names_the_variable() -> None:
    with pytest.raises(FlagError, match='environment variable "LLAMA_ARG_KV_UNIFIED": invalid boolean value'):
        parse("", LLAMA_ARG_KV_UNIFIED="yes")


def test_variables_of_harmless_flags_are_checked_like_all_others() -> None:
    for name, word in (("UI", "yes"), ("N_GPU_LAYERS", "many"), ("SPLIT_MODE", "5"), ("JINJA", "0")):
        with pytest.raises(FlagError, match=f'environment variable "LLAMA_ARG_{name}"'):
            parse("", **{f"LLAMA_ARG_{name}": word})


def test_a_switch_that_cannot_be_switched_off_is_on_or_left_alone() -> None:
    assert parse("", LLAMA_ARG_ENDPOINT_METRICS="1", LLAMA_ARG_NO_ENDPOINT_METRICS="1").http.metrics is True
    assert parse("", LLAMA_ARG_ENDPOINT_METRICS="yes").http.metrics is False


def test_a_seed_of_minus_one_is_random_and_others_have_32_bits() -> None:
    assert parse("-s -1").sampling.seed == parse("").sampling.seed == 2**32 - 1
    assert parse("-s 4294967301").sampling.seed == 5


def test_of_several_targets_the_first_counts() -> None:
    assert parse("--fit-target 512,1024").launch.fit_target == 512


def test_the_negative_variable_wins_whatever_its_value() -> None:
    flags = parse("", LLAMA_ARG_KV_UNIFIED="1", LLAMA_ARG_NO_KV_UNIFIED="0")
    assert flags.launch.kv_unified is False
    assert parse("-kvu", LLAMA_ARG_NO_KV_UNIFIED="1").launch.kv_unified is True


def test_the_last_of_two_wins_with_a_warning() -> None:
    flags = parse("-np 2 -np 3")
    assert flags.launch.parallel == 3
    assert "specified multiple times" in flags.warnings[0]


def test_stop_strings_and_keys_add_up() -> None:
    assert parse("-r one -r two").reverse_prompt == ("one", "two")
    assert parse("--api-key a,b --api-key c").http.api_keys == ("a", "b", "c")


def test_names_tags_and_variables_of_the_template_add_up() -> None:
    http = parse("-a b,a -a c --tags x --tags y").http
    assert (http.aliases, http.tags) == (("b", "a", "c"), ("x", "y"))
    told = parse_flags(["--chat-template-kwargs", '{"a": 1}', "--chat-template-kwargs", '{"b": 2}'])
    assert told.http.chat_template_kwargs == {"a": 1, "b": 2}


def test_several_addresses_to_listen_on() -> None:
    assert parse_flags(["--host", "127.0.0.1, ::1"]).http.hosts == ("127.0.0.1", "::1")
    with pytest.raises(FlagError, match="--host requires at least one address"):
        parse_flags([], {"LLAMA_ARG_HOST": ""})


def test_how_much_the_log_says() -> None:
    least, some, most = parse("--log-disable -lv 4").verbosity, parse("-lv 4").verbosity, parse("-v -lv 4").verbosity
    assert least < 0 < some == 4 < most


def test_the_default_effort_is_the_templates() -> None:
    assert parse("--reasoning-effort default").http.reasoning_effort == ""
    assert parse("--reasoning-effort low").http.reasoning_effort == "low"


def test_numbers_that_llama_server_corrects() -> None:
    assert parse("--temp -1").sampling.temperature == 0
    assert parse("--dry-base 0.5").sampling.dry_base == parse("").sampling.dry_base
    assert parse("--dry-base 1").sampling.dry_base == 1


def test_a_key_never_shows_in_a_representation() -> None:
    assert "secret" not in repr(parse("--api-key secret"))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--foo", "error: invalid argument: --foo"),
        ("-np", 'argument "-np": error: expected value'),
        ("--metrics=1", 'argument "--metrics": error: it takes no value'),
        ("--chat-template-file /no/such", "failed to open file '/no/such'"),
        ("-np two", "'two' is not a whole number"),
        ("-c 1_000", "'1_000' is not a whole number"),
        ("-c 99999999999", "99999999999 is beyond what 32 bits can hold"),
        ("--api-prefix llm", "'llm' cannot begin a path; give one such as /llm"),
        ("--api-prefix /{x}", "cannot begin a path"),
        ("--temp 1e39", "1e39 is beyond what a float32 can hold"),
        ("-l 99999999999+1", "99999999999 is beyond what 32 bits can hold"),
        ("--temp nan", "'nan' is not a number"),
        ("-l 5+x", "'x' is not a number"),
        ("--chat-template-kwargs {", "no JSON object: Expecting property name enclosed in double quotes at column 2"),
        ("--chat-template-kwargs [1]", "'[1]' is no JSON object"),
        pytest.param(f"--chat-template-kwargs {'[' * 100_000}", "no JSON object: nested too deeply", id="deep"),
        ("--repeat-penalty 0", "must be finite and greater than 0"),
        ("--presence-penalty inf", "must be finite"),
        ("--no-mmap", "llama-server has --load-mode in its place"),
        ("-ngl many", "'many' is not a whole number"),
        ("--numa far", "one of distribute, isolate, numactl"),
        ("--prio 4", "between -1 and 3"),
        ("--port 70000", "between 0 and 65535"),
        ("--ctx-shift", "invalid argument: --ctx-shift"),
        ("--lora x", "no LoRA adapters"),
        ("--sleep-idle-seconds 5", "does not unload"),
        ("-fa maybe", "maybe"),
        ("stray", "invalid argument: stray"),
    ],
)
def test_bad_input_is_one_line_that_names_what_is_wrong(line: str, text: str) -> None:
    with pytest.raises(FlagError) as error:
        parse(line)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_template_is_text(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF\xff")
    with pytest.raises(FlagError, match="gguf' is not a text file in UTF-8"):
        parse(f"--chat-template-file {tmp_path}/model.gguf")


def test_harmless_flags_change_nothing() -> None:
    harmless = "-ngl 99 -ngld all --no-webui --numa distribute -lm mlock -ts 3,1 --log-colors off -cms 0"
    assert parse(harmless, LLAMA_ARG_REPACK="off", LLAMA_ARG_NO_PERF="", LLAMA_ARG_SWA_FULL="yes") == parse("")
    assert parse("--sleep-idle-seconds -1 --reasoning-budget -1 --spec-type none") == parse("")
    assert "defragmentation" in parse("-dt 0.1").warnings[0]


def test_no_name_stands_twice() -> None:
    names = [name for flag in FLAGS for name in (*flag.names, *flag.negative)]
    assert len(names) == len(set(names))
    assert not set(names) & set(REFUSED)


def test_samplers_and_biases_of_the_command_line() -> None:
    flags = parse("--samplers top-k;bogus;TEMP -l 5+1.5 --logit-bias 6-inf --dry-sequence-breaker \\n")
    assert flags.sampling.samplers == ("top_k", "temperature")
    assert flags.sampling.logit_bias == ((5, 1.5), (6, -math.inf))
    assert flags.sampling.dry_sequence_breakers == ("\n",)
    assert parse("--samplers top_k --sampling-seq t?m").sampling.samplers == ("temperature", "min_p")
    assert parse("--dry-sequence-breaker none --no-escape -r \\n").reverse_prompt == ("\\n",)
    assert parse("--dry-sequence-breaker none").sampling.dry_sequence_breakers == ()
    assert parse("-l 7-2").sampling.logit_bias == ((7, -2.0),)
    with pytest.raises(FlagError, match="invalid input format"):
        parse("-l 5")


def test_a_variable_of_what_is_refused_is_refused_unless_it_says_no() -> None:
    with pytest.raises(FlagError, match="LLAMA_ARG_EMBEDDINGS is not possible here"):
        parse_flags((), {"LLAMA_ARG_EMBEDDINGS": "1"})
    assert parse_flags((), {"LLAMA_ARG_EMBEDDINGS": "0", "LLAMA_ARG_TOP_P": "0.5"}).sampling.top_p == 0.5
