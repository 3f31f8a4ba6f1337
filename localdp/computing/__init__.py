"""Secure computation between three servers of which one may be dishonest: noise and selections that no server knows."""
