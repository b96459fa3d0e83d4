"""Keys on a child's command line: found where they are needed, hidden where they are not."""

from __future__ import annotations

from pathlib import Path

from slotview.engine.runner.secrets import api_key_of, command_to_copy, secrets_of
from slotview.engine.text.hiding import hiding


def test_the_key_of_the_child(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# our keys\n\nk4\nk5\n")
    assert api_key_of(["--api-key", "k1,k2"], {"LLAMA_API_KEY": "k3"}) == "k1"
    assert api_key_of(["--api-key", ",k2"], {}) == "k2"
    assert api_key_of(["--api-key=k1"], {}) == "k1"
    assert api_key_of(["--api_key", "k1"], {}) == "k1"
    assert api_key_of([], {"LLAMA_ARG_API_KEY_FILE": str(file)}) == "k4"
    assert api_key_of([], {"LLAMA_API_KEY": "k3"}) == "k3"
    assert api_key_of(["--api-key-file", str(file)], {}) == "k4"
    assert api_key_of(["--api-key-file", str(tmp_path / "none")], {}) is None
    assert api_key_of(["--api-key"], {}) is None


def test_all_keys_and_tokens_are_taken_out_of_a_text(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("in(file\n")
    words = ["--api-key", "mine,not-mine", "--api-key-file", str(file), "-hft", "hf_1"]
    hide = hiding(secrets_of(words, {"HF_TOKEN": "hf_2"}))
    told = "llama-server --api-key mine,not-mine -hft hf_1 hf_2 in(file undermined"
    assert hide(told) == "llama-server --api-key ***,*** -hft *** *** *** undermined"
    assert hiding(secrets_of([], {}))(told) == told


def test_a_long_secret_is_hidden_also_where_it_touches_a_word() -> None:
    hide = hiding(["sk-0123456789", "an"])
    assert hide(r"quoted as 'key:\nsk-0123456789_' by an answer") == r"quoted as 'key:\n***_' by *** answer"


def test_the_command_to_copy_has_no_secret_and_can_be_pasted() -> None:
    words = ["llama-server", "-m", "my model.gguf", "--api_key", "secret", "--hf-token=secret", "-np", "2"]
    expected = 'llama-server -m \'my model.gguf\' --api_key "$LLAMA_API_KEY" --hf-token "$HF_TOKEN" -np 2'
    assert command_to_copy(words) == expected
    assert command_to_copy(["--api-key"]) == '--api-key "$LLAMA_API_KEY"'
