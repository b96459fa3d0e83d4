"""Connections to a server: addresses, proof, limits, faults."""
