"""Noise that a share server proves to have drawn from coins that it could not choose (plan `proved`)."""
