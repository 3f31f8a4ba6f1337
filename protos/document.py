"""Writes the protos into docs/contract.md: services, messages and enums, field by field, in the words of the comments."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from compiler import ROOT, compiled
from google.protobuf import descriptor_pb2

PAGE = ROOT / "docs/contract.md"
MARK = "<!-- What follows is written by protos/generate.py from the comments of the protos. -->\n"
_MESSAGE, _ENUM, _SERVICE = 4, 5, 6  # the numbers of these lists in a FileDescriptorProto
_INNER = 2  # of fields in a message, of values in an enum, of methods in a service
_TYPES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}


def reference() -> str:
    """All files of the contract, in Markdown."""
    return "\n".join(line for file in _described() for line in _File(file).lines())


def page() -> str:
    """The page with its reference as it should be."""
    written, _, _ = PAGE.read_text().partition(MARK)
    return written + MARK + "\n" + reference() + "\n"


def _described() -> Sequence[descriptor_pb2.FileDescriptorProto]:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "all.binpb"
        compiled(f"--descriptor_set_out={out}", "--include_source_info")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file


class _File:
    """One proto, with the comments by the places that they stand at."""

    def __init__(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        self._file = file
        self._comments = {
            tuple(place.path): " ".join(place.leading_comments.split())
            for place in file.source_code_info.location
        }

    def lines(self) -> Iterator[str]:
        yield f"### `{Path(self._file.name).name}`\n"
        for number, service in enumerate(self._file.service):
            rows = [(method.name, _signature(method)) for method in service.method]
            yield from self._table("service", service.name, (_SERVICE, number), ("call", "from, to"), rows)
        for number, message in enumerate(self._file.message_type):
            rows = [(field.name, f"{field.number}", _type(field, message)) for field in message.field]
            yield from self._table(
                "message", message.name, (_MESSAGE, number), ("field", "no.", "type"), rows
            )
        for number, enum in enumerate(self._file.enum_type):
            rows = [(value.name, f"{value.number}") for value in enum.value]
            yield from self._table("enum", enum.name, (_ENUM, number), ("value", "no."), rows)

    def _table(
        self,
        kind: str,
        name: str,
        path: tuple[int, int],
        heads: tuple[str, ...],
        rows: Sequence[tuple[str, ...]],
    ) -> Iterator[str]:
        yield f"#### {kind} `{name}`\n"
        yield f"{self._comments.get(path, '')}\n"
        if not rows:
            return
        yield "| " + " | ".join((*heads, "meaning")) + " |"
        yield "|---" * (len(heads) + 1) + "|"
        for number, row in enumerate(rows):
            meaning = self._comments.get((*path, _INNER, number), "")
            yield "| " + " | ".join((f"`{row[0]}`", *row[1:], meaning)) + " |"
        yield ""


def _type(field: Any, message: Any) -> str:
    name = field.type_name.rpartition(".")[2] or _TYPES[field.type]
    if field.label == field.LABEL_REPEATED:
        return f"repeated {name}"
    return (
        f"{name}, one of `{message.oneof_decl[field.oneof_index].name}`"
        if field.HasField("oneof_index")
        else name
    )


def _signature(method: Any) -> str:
    asked, answered = (name.rpartition(".")[2] for name in (method.input_type, method.output_type))
    return f"{'stream ' * method.client_streaming}{asked}, {'stream ' * method.server_streaming}{answered}"
