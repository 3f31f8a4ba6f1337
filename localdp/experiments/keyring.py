"""Where the keyring was: `localdp.randomness.keyring` has it."""

from localdp.randomness.keyring import Keyring

__all__ = ["Keyring"]
