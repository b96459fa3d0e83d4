"""What nginx, HAProxy, Apache, Caddy and Varnish really send, replayed: would an operator know what to do?"""

from __future__ import annotations

import pytest

from slotview.engine.remote.once import ExitCode, snapshot_once
from slotview.engine.remote.retry_after import pause_of
from slotview.engine.snapshot import HealthState
from tests.engine.remote.recorded import healthy, in_state, watching
from tests.fake_server import NOT_FOUND, FakeServer, Reply, Routes


def sent(head: str, body: str | bytes = b"") -> Reply:
    """An answer as it came over the wire, without what differs from one to the next."""
    content = body.encode() if isinstance(body, str) else body
    lines = "\r\n".join([*head.splitlines(), f"Content-Length: {len(content)}", "Connection: close", "", ""])
    return Reply(raw=lines.encode() + content)


def nginx_page(title: str) -> str:
    """An error page of nginx 1.22."""
    name = f"<html>\r\n<head><title>400 {title}</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>"
    return f"{name}\r\n<center>{title}</center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"


HTML = "Content-Type: text/html"
HAPROXY_503 = sent(
    f"HTTP/1.1 503 Service Unavailable\ncache-control: no-cache\n{HTML}",
    "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n",
)
HAPROXY_403 = sent(
    f"HTTP/1.1 403 Forbidden\ncache-control: no-cache\n{HTML}",
    "<html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>\n",
)
CADDY_502 = sent("HTTP/1.1 502 Bad Gateway\nServer: Caddy")
NGINX_TLS = sent(f"HTTP/1.1 400 Bad Request\n{HTML}", nginx_page("The plain HTTP request was sent to HTTPS port"))
NGINX_CERTIFICATE = sent(f"HTTP/1.1 400 Bad Request\n{HTML}", nginx_page("No required SSL certificate was sent"))
CADDY_TLS = Reply(raw=b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
APACHE_TLS = sent(
    f"HTTP/1.1 400 Bad Request\nServer: Apache/2.4.71 (Debian) OpenSSL/3.0.19\n{HTML}; charset=iso-8859-1",
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
    "<html><head>\n<title>400 Bad Request</title>\n</head><body>\n<h1>Bad Request</h1>\n"
    "<p>Your browser sent a request that this server could not understand.<br />\n"
    "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />\n"
    " Instead use the HTTPS scheme to access this URL, please.<br />\n</p>\n</body></html>\n",
)
APACHE_DIGEST = sent(
    'HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Digest realm="llama", nonce="L5E0qIJhBgA=0183", algorithm=MD5, '
    f'qop="auth"\n{HTML}',
    "<html><head>\n<title>401 Unauthorized</title>\n</head><body>\n<h1>Unauthorized</h1>\n</body></html>\n",
)
APACHE_BROTLI = sent(
    "HTTP/1.1 200 OK\nContent-Type: application/json\nVary: Accept-Encoding\nContent-Encoding: br",
    b'\x03\x07\x80{"status":"ok"}\x03',
)
LOGIN = sent(f"HTTP/1.1 200 OK\n{HTML}", "<!doctype html><html><head><title>Sign in - SSO</title></head></html>")


@pytest.mark.parametrize(
    ("routes", "default", "code", "words"),
    [
        ({}, HAPROXY_503, ExitCode.UNREACHABLE, "behind the proxy (503 Service Unavailable) | is llama-server running"),
        ({}, CADDY_502, ExitCode.UNREACHABLE, "behind the proxy (502 Bad Gateway) | is llama-server running"),
        (healthy(HAPROXY_403), NOT_FOUND, ExitCode.KEY, "to /slots refused (403 Forbidden) | a proxy forbids it"),
        ({}, NGINX_TLS, ExitCode.FOREIGN, "sent to HTTPS port | give https:// in place of http://"),
        ({}, APACHE_TLS, ExitCode.FOREIGN, "400 Bad Request | give https:// in place of http://"),
        ({}, CADDY_TLS, ExitCode.FOREIGN, "to an HTTPS server. | give https:// in place of http://"),
        ({}, NGINX_CERTIFICATE, ExitCode.FOREIGN, "| a proxy wants a client certificate, which slotview does not send"),
        ({}, APACHE_DIGEST, ExitCode.KEY, "a proxy asks for a login by digest, which slotview does not speak"),
        ({}, APACHE_BROTLI, ExitCode.FOREIGN, "an answer packed with br, unasked"),
        ({}, LOGIN, ExitCode.FOREIGN, "a web page instead of JSON: Sign in - SSO"),
        ({}, NOT_FOUND, ExitCode.FOREIGN, "under this path (404 File Not Found) | check the path before /slots"),
    ],
)  # fmt: skip
def test_what_a_proxy_says_tells_an_operator_what_to_do(
    routes: Routes, default: Reply, code: ExitCode, words: str
) -> None:
    with FakeServer(routes, default=default) as server:
        found, exit_code = snapshot_once(server.url)
    health = found["health"]
    assert words in f"{health['message']} | {health['advice']}"
    assert exit_code is code


def test_a_tunnel_whose_server_ended_is_not_called_busy() -> None:
    """As ssh -L, stunnel and HAProxy in TCP mode do: they take the connection, find nobody, and close it."""
    with FakeServer(healthy()) as server, watching(server) as backend:
        backend.wait_until(in_state(HealthState.OK), 5)
        server.routes, server.default = {}, Reply(drop=True)
        health = backend.wait_until(in_state(HealthState.NO_ANSWER), 5).health
    assert health.message.endswith("accepts the connection and closes it without an answer")
    assert health.advice == "behind a tunnel or a container's port: is llama-server running there?"


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("7", 7.0),
        ("Mon, 30 Nov 2026 18:34:35 GMT", 20.0),
        ("Mon, 30 Nov 2026 18:34:05 GMT", 0.0),
        ("Wed, 21 Oct 2037 07:28:00 GMT", 3600.0),
        ("999999999999", 3600.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("Mon, 99 Nov 2026 18:34:35 GMT", None),
    ],
)
def test_a_pause_is_asked_for_in_seconds_or_until_a_date(when: str, seconds: float | None) -> None:
    assert pause_of(when, "Mon, 30 Nov 2026 18:34:15 GMT") == seconds
