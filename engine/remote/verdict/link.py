"""Why a server cannot be reached, and what to do about it."""

from __future__ import annotations

import re

from slotview.engine.snapshot import Health, HealthState

from ..http.answer import Fault
from ..http.proxy import VIA
from ..knowledge.link import Link

__all__ = ["PROXY_LOGIN", "not_answering", "unreachable"]

PORT_ADVICE = "check the port; if the server speaks TLS, give https://"
TUNNEL_ADVICE = "behind a tunnel or a container's port: is llama-server running there?"
PROXY_LOGIN = (
    "the proxy on the way wants a user and a password",
    "HTTP_PROXY=http://USER:PASSWORD@proxy:port (or HTTPS_PROXY), or add the server to NO_PROXY",
)
PROXY_ADVICE = "the environment names it: see HTTP_PROXY and HTTPS_PROXY, or add the server to NO_PROXY"


def unreachable(link: Link, host: str, now: float) -> Health:
    """The verdict on a link that is down; ``host`` is the server, or the proxy in front of it."""
    is_proxy, why = host.startswith(VIA), link.message
    address_advice = PROXY_ADVICE if is_proxy else "check the address"
    match link.fault:
        case Fault.REFUSED:
            advice = PROXY_ADVICE if is_proxy else "is llama-server running there?"
            verdict = HealthState.REFUSED, f"connection refused by {host}", advice
        case Fault.CONNECT:
            reason = re.sub(r"^\[\w+ -?\d+\] ", "", why)
            verdict = HealthState.ERROR, f"no connection to {host}: {reason}", address_advice
        case Fault.NAME:
            verdict = HealthState.ERROR, f"host name not found: {host}", address_advice
        case Fault.TLS:
            verdict = HealthState.ERROR, f"no secure connection: {why}", _tls_advice(why)
        case Fault.NOT_HTTP:
            verdict = HealthState.FOREIGN, f"this is not a llama-server: it answers with {why}", PORT_ADVICE
        case Fault.DROPPED:
            text = f"{host} accepts the connection and closes it without an answer"
            verdict = HealthState.NO_ANSWER, text, TUNNEL_ADVICE if link.was_up else f"{PORT_ADVICE}; {TUNNEL_ADVICE}"
        case Fault.UNREACHABLE:
            verdict = HealthState.NO_ANSWER, f"host not reachable: {host}", "check the network"
        case Fault.OTHER if is_proxy and why.startswith("407"):
            verdict = HealthState.KEY, *PROXY_LOGIN
        case Fault.OTHER if is_proxy and re.match(r"\d{3} ", why):
            verdict = HealthState.ERROR, f"{host} does not reach the server ({why})", PROXY_ADVICE
        case Fault.OTHER:
            verdict = HealthState.ERROR, f"{host} cannot be asked: {why}", address_advice
        case Fault.UNCONNECTED:
            text = f"no connection to {host} for {now - (link.down_since or now):.0f} s"
            advice = PROXY_ADVICE if is_proxy else "is that machine on, and its port open to this one?"
            verdict = HealthState.NO_ANSWER, text, advice
        case _:
            return not_answering(link.down_since, now)
    return Health(*verdict, link.down_since)


def _tls_advice(message: str) -> str:
    if "hostname mismatch" in message.lower() or "ip address mismatch" in message.lower():
        return "use the name that the certificate is made out to"
    if "certificate file" in message:
        return "give the path of a file with certificates in PEM form"
    if "certificate required" in message:
        return "a client certificate is wanted, which slotview does not send: attach behind the proxy"
    if "expired" in message or "not yet valid" in message:
        return "the certificate has to be renewed, unless the date of this machine is wrong"
    if "issuer" in message or "certificate chain" in message:
        return "if it is the right server: SSL_CERT_FILE=its-CA.pem slotview attach …"
    if "certificate" in message.lower():
        return "if it is the right server: SSL_CERT_FILE=cert.pem slotview attach …"
    return "try http://"


def not_answering(since: float | None, now: float) -> Health:
    """Neither refused nor answered. The server is not called dead, since it may just be busy (spec §5.1)."""
    seconds = 0.0 if since is None else now - since
    advice = "it may be suspended, or all its HTTP threads hold waiting requests"
    return Health(HealthState.NO_ANSWER, f"not answering for {seconds:.0f} s", advice, since)
