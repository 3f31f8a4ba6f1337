"""A rule for `lint-imports`: what a package imports from outside is on a list."""

from collections.abc import Iterable
from typing import Any, cast

from importlinter import Contract, ContractCheck, fields, output


class AllowedImports(Contract):
    """Every module that `package` imports itself belongs to the project or is `allowed`."""

    package = fields.StringField()
    allowed = fields.SetField(subfield=fields.StringField())

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """Look at direct imports only: what an allowed library imports is its own affair."""
        roots = {str(one).split(".")[0] for one in self.session_options["root_packages"]}
        allowed = set(cast(Iterable[str], self.allowed))
        outside = {one for one in graph.modules if one.split(".")[0] not in roots | allowed}
        inside = {str(self.package), *graph.find_descendants(self.package)}
        found = sorted(
            (who, one) for one in outside for who in graph.find_modules_that_directly_import(one) & inside
        )
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say who imports what."""
        for who, what in check.metadata["found"]:
            output.print_error(f"{who} imports {what}, which is not on the list of pyproject.toml")
