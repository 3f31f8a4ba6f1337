"""`python -m localdp`: the command line, where the script `localdp` is not on the path.

The command lives in `parties`, which the mathematics never imports; this file is the one exception, is imported by
nothing, and pyproject.toml names it as such.  Checked in tests/integration/test_packaging.py.
"""

from parties.command.main import main

if __name__ == "__main__":
    main()
