"""Parities: what the SQ model cannot learn and a curator can (section 12.1; Kasiviswanathan et al. 2008)."""
