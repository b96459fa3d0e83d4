"""Why a server ended, in one line."""

import signal

import pytest

from slotview.engine.runner.last_words import how_it_ended

MISSING = """\
0.00.007.321 I srv    load_model: loading model 'no.gguf'
0.00.007.340 E gguf_init_from_file: failed to open GGUF file 'no.gguf' (No such file or directory)
0.00.007.347 E llama_model_load_from_file_impl: failed to load model
0.00.008.100 I srv    operator(): operator(): cleaning up before exit...
0.00.008.773 E srv  llama_server: exiting due to model loading error
""".splitlines()
FLAG = ['error while handling argument "-ctv": Unsupported cache type: q9', "", "usage:", "-ctv,  --cache-type-v TYPE"]
IDLE = "1.00.085.386 I srv  update_slots: all slots are idle"


@pytest.mark.parametrize(
    ("code", "lines", "told"),
    [
        (
            1,
            MISSING,
            "llama-server ended with exit code 1: "
            "gguf_init_from_file: failed to open GGUF file 'no.gguf' (No such file or directory)",
        ),
        (1, [f"\x1b[34m{MISSING[1][:12]}\x1b[0m \x1b[31mE \x1b[0mwrong"], "llama-server ended with exit code 1: wrong"),
        (1, [MISSING[0][13:], "E llama: wrong"], "llama-server ended with exit code 1: llama: wrong"),
        (1, FLAG, f"llama-server ended with exit code 1: {FLAG[0]}"),
        (0, [IDLE, ""], "llama-server ended with exit code 0: srv update_slots: all slots are idle"),
        (3, [], "llama-server ended with exit code 3"),
        (255, [], "llama-server ended with exit code 255"),
        (128 + signal.SIGTERM, [MISSING[0], IDLE], "llama-server was killed by SIGTERM: someone asked it to end"),
        (
            128 + signal.SIGKILL,
            [MISSING[0], IDLE],
            "llama-server was killed by SIGKILL, as the system does when memory runs out",
        ),
        (128 + signal.SIGSEGV, [], "llama-server was killed by SIGSEGV"),
        (
            128 + signal.SIGSEGV,
            ["0.00.100.000 I srv    load_model: loading model 'odd.gguf'"],
            "llama-server was killed by SIGSEGV: srv load_model: loading model 'odd.gguf'",
        ),
        (
            128 + signal.SIGABRT,
            ["0.00.000.001 E srv  send_error: an earlier request failed", "ggml.c:7: GGML_ASSERT(n > 0) failed", IDLE],
            "llama-server was killed by SIGABRT: ggml.c:7: GGML_ASSERT(n > 0) failed",
        ),
    ],
)
def test_the_telling_line_is_found(code: int, lines: list[str], told: str) -> None:
    assert how_it_ended(code, lines) == told


def test_a_long_line_is_cut() -> None:
    assert len(how_it_ended(1, ["error: " + "x" * 5000])) < 300


def test_a_programs_garbage_is_harmless_and_short() -> None:
    told = how_it_ended(3, ["\x1b[2J\x1b]0;t\x07" + "x" * 500])
    assert told.isprintable()
    assert len(told) < 260
