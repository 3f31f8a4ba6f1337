"""A share server that takes reports: each upload is stored or refused on its own, and each report once.

Checked in tests/unit/sharing/test_share_server.py, with crashes in tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from localdp.errors import CollectionClosed, InvalidParameter, LocalDpError
from localdp.sharing.blocks import ShareBlock
from localdp.sharing.memory import ServerMemory
from localdp.sharing.storage import Upload
from localdp.sharing.task import CollectionTask


class ReceivingServer(ServerMemory):
    """What parties meet of a share server."""

    def accept(self, *blocks: ShareBlock) -> int:
        """Store the reports of one collection that did not come before; returns how many they are."""
        outcome = self.accept_all([blocks])[0]
        if isinstance(outcome, LocalDpError):
            raise outcome
        return outcome

    def accept_all(self, groups: Sequence[Sequence[ShareBlock]]) -> list[int | LocalDpError]:
        """The same for many uploads: each is taken or refused on its own.

        Those of one collection are written together; if that fails, all of them are told, and nobody else.
        """
        outcomes: list[int | LocalDpError] = [0] * len(groups)
        for collection, numbers in _by_collection(groups).items():
            told = self._taken(collection, [groups[number] for number in numbers])
            for number, outcome in zip(numbers, told, strict=True):
                outcomes[number] = outcome
        return outcomes

    def _taken(
        self, collection: bytes, groups: Sequence[Sequence[ShareBlock]]
    ) -> Sequence[int | LocalDpError]:
        """What comes of the uploads of one collection."""
        try:
            if self._storage.released(collection) is not None:
                raise CollectionClosed("the collection was released: it takes no more reports")
            return self._store(self._task(collection), groups)
        except LocalDpError as error:
            return [error] * len(groups)

    def _store(
        self, task: CollectionTask, groups: Sequence[Sequence[ShareBlock]]
    ) -> list[int | LocalDpError]:
        """Nothing is expected any more when it returns or raises: it is on record, or may come again."""
        uploads: list[Upload] = []
        others = self._bytes_held() - task.bytes_held
        try:
            outcomes = [self._expected(task, group, uploads, others) for group in groups]
            if uploads:
                self._storage.upload(task.collection.digest, uploads)
        except BaseException:
            task.forget(uploads)
            raise
        for upload in uploads:
            task.store(upload.number, upload.positions)
        return outcomes

    def _expected(
        self, task: CollectionTask, blocks: Sequence[ShareBlock], uploads: list[Upload], others: int
    ) -> int | LocalDpError:
        """What of an upload is new is added to the uploads; returns how many reports, or why none.

        `others`: the bytes that the other collections take.
        """
        try:
            if {block.collection for block in blocks} != {task.collection.digest}:
                raise InvalidParameter("blocks of different collections are uploaded separately")
            new = task.expect(blocks)
            if new:
                self._require_open(task, new, others + task.bytes_held)
        except LocalDpError as error:
            return error
        uploads.extend(new)
        return sum(len(upload.positions) for upload in new)

    def _require_open(self, task: CollectionTask, new: Sequence[Upload], wanted: int) -> None:
        """Refuse new reports, and forget them, where the set is final or there is no room."""
        try:
            if task.sealed is not None:
                raise CollectionClosed("the set of reports of this collection is final: it takes no more")
            self._policy.require_room(wanted)
        except LocalDpError:
            task.forget(new)
            raise


def _by_collection(groups: Sequence[Sequence[ShareBlock]]) -> dict[bytes, list[int]]:
    """The numbers of the uploads of each collection; of one without blocks there is nothing to store."""
    numbers: dict[bytes, list[int]] = {}
    for number, blocks in enumerate(groups):
        if blocks:
            numbers.setdefault(blocks[0].collection, []).append(number)
    return numbers
