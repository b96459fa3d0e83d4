"""Which proxy the environment names for a server, read as curl and other clients do."""

from __future__ import annotations

from urllib.parse import urlsplit

from slotview.engine.text.plain import plain

from .address import Address

__all__ = ["VIA", "peer_of", "proxy_for"]

VIA = "the proxy "
"""How the name of a peer begins if it is a proxy."""


def proxy_for(address: Address) -> str | None:
    """The URL of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY; None for this machine, and for hosts in NO_PROXY."""
    if address.is_local:
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(address.origin.partition(":")[0]) or proxies.get("all")
    if not proxy or proxy_bypass(address.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def peer_of(address: Address) -> str:
    """Who takes the connection, as it may be shown: the server, or the proxy in front of it."""
    proxy = proxy_for(address)
    if proxy is not None:
        return f"{VIA}{plain(urlsplit(proxy).netloc.rpartition('@')[2], 80)}"
    return plain(address.socket, 120) if address.socket else address.shown.partition("://")[2].partition("/")[0]
