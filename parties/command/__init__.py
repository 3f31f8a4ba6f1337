"""The command line: `localdp`."""
