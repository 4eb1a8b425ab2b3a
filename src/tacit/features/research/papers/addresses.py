"""Addresses: is this a machine of the public network, and of nothing else? Pure; asks nobody.

What the standard library calls global has holes: IPv6 addresses that carry one of IPv4 in them lead where that one leads.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_UNICAST = IPv6Network("2000::/3")
"""All that is given out to the public network."""
_TUNNELS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
"""6to4 and Teredo: nobody serves papers there, and versions of the standard library differ on them."""
_CARRIERS = (
    IPv6Network("64:ff9b::/96"),  # NAT64
    IPv6Network("::/96"),  # compatible addresses, long out of use
    IPv6Network("::ffff:0:0:0/96"),  # translated ones
)
"""Networks whose last 32 bits are an address of IPv4."""


def is_public(text: str) -> bool:
    """Whether an address is plain, global and of one machine, and so is each that it carries."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _is_plain(address)
    carried = list(_carried(address))
    if carried and not all(map(_is_plain, carried)):
        return False
    if address.ipv4_mapped is not None or address in _CARRIERS[0]:
        return True  # the address that it carries is the one that is reached
    is_tunnel = any(address in network for network in _TUNNELS)
    return address in _UNICAST and not is_tunnel and _is_plain(address)


def _is_plain(address: IPv4Address | IPv6Address) -> bool:
    odd = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_loopback
    return address.is_global and not odd and not address.is_private and not address.is_link_local


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    """The addresses of IPv4 inside one of IPv6."""
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if any(address in network for network in _CARRIERS):
        yield IPv4Address(int(address) & 0xFFFFFFFF)
