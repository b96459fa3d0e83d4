"""Routes, methods, headers, keys, prefixes."""

from __future__ import annotations

from ..client import Client
from ..scenario import DIFFERS, scenario

KEYED = "-c 512 -np 1 --api-key k1,k2 --no-slots"


@scenario("routes that exist and routes that do not", "-c 512 -np 2")
def routes(c: Client) -> None:
    for path in (
        "/health", "/v1/health", "/slots", "/props", "/models", "/v1/models", "/nothing", "/slots/", "/HEALTH",
        "/completion", "/v1/completions", "/slots/0", "/tokenize", "//health", "/v1/slots", "/health?x=1",
    ):  # fmt: skip
        c.ask(path)
        c.ask(path, method="HEAD", step=f"HEAD {path}")
        c.ask(path, b"{}", method="PUT", step=f"PUT {path}")
        c.ask(path, method="DELETE", step=f"DELETE {path}")
        c.ask(path, method="OPTIONS", step=f"OPTIONS {path}")
    for path in ("/health", "/slots", "/metrics", "/nothing"):
        c.ask(path, {}, step=f"POST {path}")


@scenario("routes for other kinds of models")
def other_models(c: Client) -> None:
    for path in (
        "/embedding", "/embeddings", "/v1/embeddings", "/rerank", "/reranking", "/v1/rerank", "/v1/reranking",
        "/infill", "/audio/transcriptions", "/v1/audio/transcriptions", "/v1/systemone", "/cors-proxy", "/tools",
        "/lora-adapters",
    ):  # fmt: skip
        c.ask(path)
        c.ask(path, {"input": "A", "query": "A", "documents": ["B"]}, step=f"POST {path}")
        c.ask(path, b"no JSON", method="POST", step=f"POST {path} nothing")
    for body in ([], [{"id": 0, "scale": 1}], [5]):
        c.ask("/lora-adapters", body, step=f"{body}")


@scenario("what a slot engine leaves out", listed="left-out")
def left_out(c: Client) -> None:
    hello: dict[str, object] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "temperature": 0}
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    text = {"prompt": "A", "n_predict": 1}
    asked: tuple[tuple[str, dict[str, object]], ...] = (
        ("/v1/messages", hello), ("/v1/responses", {"input": "Hi", "max_output_tokens": 2}),
        ("/v1/streams/lookup", {}), ("/v1/chat/completions", {**hello, "tools": [tool]}),
        ("/v1/chat/completions", {**hello, "response_format": {"type": "json_object"}}),
        ("/completion", {**text, "grammar": 'root ::= "a"'}), ("/completion", {**text, "json_schema": {}}),
    )  # fmt: skip
    c.note(DIFFERS, [c.fetch(path, body)[0] for path, body in asked])


@scenario("origins")
def origins(c: Client) -> None:
    for path in ("/health", "/nothing"):
        for method in ("GET", "OPTIONS"):
            c.ask(path, method=method, headers={"Origin": "http://a.example"}, step=f"{method} {path}")


for kind in (
    "--cors-origins localhost --cors-methods GET,PUT --cors-headers X-A",
    "--no-cors-credentials",
    "--cors-origins http://a.example,http://b.example",
):

    @scenario(f"CORS with {kind}", f"-c 512 -np 1 {kind}")
    def cors_of_the_line(c: Client) -> None:
        for origin in (
            None,
            "http://a.example",
            "http://localhost:80",
            "http://localhost.evil.example",
            "https://[::1]:9",
        ):
            for method in ("GET", "OPTIONS"):
                c.ask("/health", method=method, headers={"Origin": origin} if origin else {}, step=f"{method} {origin}")


@scenario("requests that are not read")
def unread(c: Client) -> None:
    def send(
        step: str, *heads: str, method: str = "POST", path: str = "/tokenize", body: str = '{"content":"A"}'
    ) -> None:
        lines = (f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *heads)
        c.raw("\r\n".join([*lines, "", body]).encode(), step)

    for method in ("get", "Post", "PROPFIND"):
        send(method, method=method, body="")
    for coding in ("gzip", "GZIP", "deflate", "br", "zstd", "identity", "utf-8", "gzip, br"):
        send(f"coding {coding}", f"Content-Encoding: {coding}")
    send("coding of an unknown path", "Content-Encoding: gzip", path="/nothing")
    c.raw(b"GET /health#x HTTP/1.1\r\nHost: x\r\n\r\n", "fragment")
    c.raw(b"GET /health?a=1#x?b HTTP/1.1\r\nHost: x\r\n\r\n", "fragment of a query")
    c.raw(b"GET /health%23x HTTP/1.1\r\nHost: x\r\n\r\n", "no fragment")
    for head in ("FOO", "GET /health HTTP/3.0", "GET /he alth HTTP/1.1", "GET /health HTTP/1.1\r\nbad header"):
        c.raw(f"{head}\r\nHost: x\r\n\r\n".encode(), head)
    c.raw(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", "no length")
    c.raw(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", "too little", half_closed=True)
    for length in (8187, 8188):
        send(f"a header of {length}", f"X: {'a' * length}")
    for count in (98, 99):
        send(f"{count} more headers", *(f"X{number}: a" for number in range(count)))
    for connection in ("close", "Close", "keep-alive"):
        send(f"connection {connection}", f"Connection: {connection}")
    part = '--B\r\nContent-Disposition: form-data; name="content"%s\r\n\r\n%s\r\n'
    end = "--B--\r\n"
    for body in ("", end, "A", part % ("", "A"), part % ("", "A") + end, part % ("", "A") + part % ("", "B") + end,
                 part % ("", "A") + part % ('; filename="f"', "B") + end):  # fmt: skip
        send(f"form {body!r}", "Content-Type: multipart/form-data; boundary=B", body=body)
    other = part.replace("form-data", "attachment") % ("", "A") + end
    unquoted = part.replace('"content"', "content") % ("", "A") + end
    for body in (
        part % ('; filename=""', "A") + end, part % ("", "A\r\nB") + end, f"--B\r\n\r\nA\r\n{end}",
        part % ("", "--B") + end,
        "x\r\n" + part % ("", "A") + end, part % ("", "A") + "--B-- x", part % ("", "A") + end + "x", other, unquoted,
        (part % ("", "A") + end).replace("\r\n", "\n"), part % ("", "") + end, part % ("", "A") + "--Bx\r\n" + end,
    ):  # fmt: skip
        send(f"form {body!r}", "Content-Type: multipart/form-data; boundary=B", body=body)
    for boundary in ('"B"', "B ; charset=x", '""', ""):
        send(
            f"boundary {boundary}",
            f"Content-Type: multipart/form-data; boundary={boundary}",
            body=part % ("", "A") + end,
        )
    send("form without a boundary", "Content-Type: multipart/form-data", body=part % ("", "A") + end)


@scenario("keys", KEYED)
def keys(c: Client) -> None:
    ways: tuple[dict[str, str], ...] = (
        {}, {"Authorization": "Bearer k1"}, {"Authorization": "k2"}, {"X-Api-Key": "k1"}, {"X-Api-Key": "Bearer k2"},
        {"Authorization": "bearer k1"}, {"Authorization": "Bearer  k1"}, {"Authorization": "Bearer k3"},
        {"Authorization": "Bearer k3", "X-Api-Key": "k1"}, {"Authorization": "", "X-Api-Key": "k1"},
        {"Authorization": "Bearer ", "X-Api-Key": "k1"}, {"Authorization": "Bearer k1 "}, {"Authorization": "K1"},
    )  # fmt: skip
    for way in ways:
        for path in ("/health", "/v1/health", "/slots", "/props", "/v1/models", "/models", "/metrics", "/nothing"):
            c.note(f"{path} {way}", c.fetch(path, headers=way)[0])
    c.ask("/slots")
    c.ask("/slots", headers={"X-Api-Key": "k1"})
    c.ask("/slots", method="OPTIONS")
    c.ask("/completion", {"prompt": "A", "n_predict": 1, "temperature": 0})


@scenario("a prefix before every route", "-c 512 -np 1 --api-prefix /llm")
def prefix(c: Client) -> None:
    for path in ("/slots", "/llm/slots", "/health", "/llm/health", "/llm/metrics", "/llm", "/llm/", "/llm/nothing"):
        status, heads, _ = c.fetch(path)
        c.note(path, {"status": status, "headers": heads})
    c.ask("/llm/completion", {"prompt": "A", "n_predict": 1, "temperature": 0})


@scenario("switched off", "-c 512 -np 1 --no-slots", bare=True)
def switched_off(c: Client) -> None:
    for path in ("/slots", "/slots?fail_on_no_slot=1", "/metrics", "/props"):
        c.ask(path)
    c.ask("/props", {})
    c.ask("/completion", {"prompt": "A", "n_predict": 1, "temperature": 0})


@scenario("POST /props", "-c 512 -np 1 --props")
def props(c: Client) -> None:
    c.ask("/props", {})
    c.ask("/props", b"not JSON", method="POST")
    c.ask("/props")


SAMPLING = (
    "--mirostat 2 --mirostat-lr 0.2 --mirostat-ent 3 --top-nsigma 2 --xtc-probability 0.1 --xtc-threshold 0.2"
    " --dynatemp-range 0.1 --dynatemp-exp 2 --dry-multiplier 0.5 --dry-base 2 --dry-allowed-length 3"
    " --dry-penalty-last-n 10 --repeat-last-n 10 --typical 0.9 --adaptive-target 2 --adaptive-decay 3"
    " --samplers top_k --sampling-seq kdx?t --dry-sequence-breaker \\t --dry-sequence-breaker x -r z\\x41"
    " --top-k -5 --top-p 5 -l 5-1 --logit-bias 6+2 -l 999999-inf --tags b,a,b --special --reasoning-effort high"
    " --reasoning off --no-prefill-assistant"
)


@scenario("samplers of the command line", f"-c 512 -np 1 {SAMPLING}")
def samplers(c: Client) -> None:
    c.ask("/props")
    kinds: tuple[dict[str, object], ...] = (
        {}, {"logit_bias": [[7, 1]]}, {"logit_bias": []}, {"logit_bias": "x"}, {"ignore_eos": True},
        {"logit_bias": {"7": 1}, "ignore_eos": True}, {"stop": ["z"]},
        {"dry_sequence_breakers": ["z"]}, {"logit_bias": [[1, 1000]], "n_probs": 1},
    )  # fmt: skip
    for fields in kinds:
        base = {"prompt": "A slot is", "n_predict": 4, "temperature": 0, "mirostat": 0, "dynatemp_range": 0}
        base["xtc_probability"] = 0  # it draws, also where the best is taken
        c.ask("/completion", base | fields)
    c.slots()
    c.ask("/v1/models")
    last = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "So"}]}
    c.ask("/apply-template", last)
    c.ask("/apply-template", last | {"continue_final_message": True, "add_generation_prompt": False})


@scenario("a bias and no end from the command line", "-c 512 -np 1 --ignore-eos -l 5-1")
def ignored_end(c: Client) -> None:
    ends: dict[str, object] = {"logit_bias": [[2, 100]]}
    for fields in ({}, {"ignore_eos": False}, {"ignore_eos": True}, ends, ends | {"ignore_eos": True}):
        c.ask("/completion", {"prompt": "A slot is", "n_predict": 3, "temperature": 0} | fields)


TEMPLATE = "{{messages[0].content}}{{a}}{{reasoning_effort}}{{enable_thinking}}"


@scenario(
    "what the template of the command line sees",
    f'-c 512 -np 1 --reasoning on --chat-template-kwargs {{"a":1}} --reasoning-effort high --chat-template {TEMPLATE}',
)
def template_of_the_line(c: Client) -> None:
    hello = {"messages": [{"role": "user", "content": "Hi"}]}
    for more in (
        {}, {"chat_template_kwargs": {"a": 2}}, {"chat_template_kwargs": {"reasoning_effort": "low"}},
        {"reasoning_effort": "low"}, {"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}},
    ):  # fmt: skip
        c.ask("/apply-template", hello | more)


@scenario("debug mode of /slots", env="LLAMA_SERVER_SLOTS_DEBUG=1", fresh=True)
def debug(c: Client) -> None:
    c.slots()
    c.complete("A slot is", 4, stop=["q"], logit_bias=[[5, -1.5]])
    c.slots()
    c.complete([2, 1, 300], 3)
    c.slots()
    for slot in (0, 1):  # an error leaves the answer before it
        c.complete([300] * 300, 3, id_slot=slot)
        c.slots()


@scenario("second look at the gauges", fresh=True)
def gauges(c: Client) -> None:
    c.metrics()
    c.complete("A slot is", 4)
    c.metrics()
    c.metrics()


@scenario("the hundredth answer closes the connection")
def hundredth(c: Client) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", c.server.port, timeout=30)
    found = []
    for _ in range(100):
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        found.append(f"{answer.headers['Connection']} {answer.headers['Keep-Alive']}")
    connection.close()
    c.note("headers", found)
