"""Templates that let a model think: which tags are found, and what a client gets as thoughts and as content."""

from __future__ import annotations

from ..client import Client
from ..scenario import scenario
from .prompts import each

USER = {"role": "user", "content": "What is a slot?"}
BEGUN = each(
    {"content": "pre"}, {"content": "", "reasoning_content": "hm"}, {"content": "pre", "reasoning_content": "hm"},
    {"content": "<think>y"}, {"content": "<think>y</think>z"}, {"content": [{"type": "text", "text": "a"}] * 2},
)  # fmt: skip
TOLD = each(
    {}, *({"continue_final_message": word, "add_generation_prompt": False} for word in (True, "reasoning_content"))
)
ANY = "{% for m in messages %}{{ m.role }}:"
SAID = "{{ m.content }};{% endfor %}{% if add_generation_prompt %}A:"
SHOWN = ANY + "{% if m.reasoning_content %}OPEN{{ m.reasoning_content }}CLOSE{% endif %}" + SAID
OFF = "{% if not enable_thinking %}"
SPLIT = (
    "{% set content = m.content %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}"
    "{% endif %}"
)


def shown(opening: str, closing: str, asking: str) -> str:
    """A template that shows earlier thoughts between two tags."""
    return SHOWN.replace("OPEN", opening).replace("CLOSE", closing) + asking + "{% endif %}"


TEMPLATES = {  # the token <|im_start|> is one that a bias can bring
    "a tag that the prompt opens": shown("<think>\n", "\n<|im_start|>\n\n", "<think>\n"),
    "tags of the model's own": shown("<|im_start|>", "<|im_start|>", ""),
    "an end alone": ANY + "{{ m.reasoning_content }}{% if m.reasoning_content %}<|im_start|>{% endif %}" + SAID
    + "{% endif %}",
    "empty thoughts where none are wanted": ANY + SAID + OFF + "<think></think>{% endif %}{% endif %}",
    "an end where none are wanted": ANY + SAID + "<think>" + OFF + "</think>{% endif %}{% endif %}",
    "words to the system": "{% if enable_thinking %}/think{% endif %}" + ANY + SAID + "x" * 80 + OFF
    + "<think></think>{% endif %}{% endif %}",
    "thoughts that are cut out": ANY + SPLIT + "{{ content }};{% endfor %}{% if add_generation_prompt %}A:<think>\n"
    "{% endif %}",
    "square tags": shown("[THINK]", "[/THINK]", ""),
}  # fmt: skip


def kind(name: str, template: str) -> None:
    """One scenario for a template."""

    @scenario(f"thoughts: {name}", "-c 2048 -np 2", env=f"LLAMA_ARG_CHAT_TEMPLATE={template}")
    def run(c: Client) -> None:
        asked = {"messages": [USER], "max_tokens": 10, "temperature": 0, "verbose": True}
        for bias in ([], [[1, 9]], [[1, 100]]):
            for more in each(
                {}, {"stream": True}, {"reasoning_format": "none", "stream": True}, {"reasoning_effort": "none"},
                {"n": 2, "stream": True}, {"logprobs": True, "top_logprobs": 1, "stream": True},
                {"chat_template_kwargs": {"enable_thinking": False}}, {"stop": ["e"]},
            ):  # fmt: skip
                c.ask("/v1/chat/completions", asked | more | {"logit_bias": bias}, step=f"{bias} {more}")
        for begun in BEGUN:
            for told in TOLD:
                body = {**asked, **told, "messages": [USER, {"role": "assistant", **begun}], "logit_bias": [[1, 9]]}
                for more in each({}, {"stream": True}, {"stream": True, "echo": True, "return_progress": True}):
                    c.ask("/v1/chat/completions", body | more, step=f"{begun} {told} {more}")
                c.ask("/apply-template", body, step=f"{begun} {told}")


for one, source in TEMPLATES.items():
    kind(one, source)

for word in ("on", "off", "auto"):

    @scenario(
        f"--reasoning {word}",
        f"-c 512 -np 1 --reasoning {word}",
        env=f"LLAMA_ARG_CHAT_TEMPLATE={SHOWN}{{% endif %}}{{{{ enable_thinking }}}}",
    )
    def wanted(c: Client) -> None:
        for more in each(
            {}, {"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ):  # fmt: skip
            c.ask("/apply-template", {"messages": [USER], **more}, step=f"{more}")


@scenario("line ends of a template", "-c 512 -np 1", env="LLAMA_ARG_CHAT_TEMPLATE={{ messages[0].content }}\r\nA:\r\n")
def line_ends(c: Client) -> None:
    c.ask("/props")
    c.ask("/apply-template", {"messages": [USER]})
