"""What a share server has in its memory: which collections are in progress, and under which keys.

A memory lasts from one witness key to the next (`binding`, `vault`).  It is built from what is on record when a server
starts.  Collections are opened here, and dropped when they end; what is done with their reports is `share_server`'s.

Checked in tests/unit/sharing/test_bound_servers.py, test_vault.py and tests/fault/test_share_operations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from localdp.errors import CollectionClosed, InvalidParameter, PolicyRefused, UnknownCollection
from localdp.randomness.keys import derive_key
from localdp.sharing.binding import Opening, commitment_to
from localdp.sharing.checks import Checked, Checks
from localdp.sharing.collection import Collection
from localdp.sharing.proof_record import NoiseSeeds
from localdp.sharing.sealing import SealingKey
from localdp.sharing.server_policy import ServerPolicy
from localdp.sharing.signatures import WitnessKey
from localdp.sharing.storage import NOTHING_RELEASED, KeptCollection, MemoryStorage, ShareStorage
from localdp.sharing.task import CollectionTask
from localdp.sharing.vault import Vault


def _no_time() -> float:
    return 0.0


class ServerMemory:
    """The collections of one share server."""

    def __init__(
        self,
        name: str,
        vault: Vault,
        storage: ShareStorage | None = None,
        *,
        policy: ServerPolicy | None = None,
        clock: Callable[[], float] = _no_time,
    ) -> None:
        """With a storage, the server goes on where one of the same name and vault stopped.

        `clock` has the seconds since 1970 that ends of collections are about; without one no time passes.
        """
        self.name = name
        self._vault = vault
        self._storage = storage or MemoryStorage()
        self._policy = policy or ServerPolicy()
        self._clock = clock
        self._checks = Checks()
        self.began_anew = False  # what it released was not on record: it refuses every collection of before
        self._tasks = self._remembered()
        self._witness = WitnessKey.derived(vault.witness)
        self._sealings = self._keys_in_use()

    def _remembered(self) -> dict[bytes, CollectionTask]:
        """The collections in progress; none, if not everything that was released is on record."""
        self._finish(self._vault.collections())
        if not self._knows_history():
            self.began_anew = self._vault.history != NOTHING_RELEASED  # or the vault is new
            self._vault.begin_anew(self._storage.history)
        tasks = {}
        for kept in self._storage.kept():
            if self._vault.secret(kept.collection.digest) is None:
                self._storage.drop(kept.collection.digest)
            else:
                tasks[kept.collection.digest] = self._task_of(kept)
        for name in [name for name in self._vault.collections() if name not in tasks]:
            self._vault.destroy(name)
        return tasks

    def _finish(self, names: Sequence[bytes]) -> None:
        """Destroy those of these secrets whose collections are released."""
        for name in names:
            released = self._storage.released(name)
            if released is not None:
                self._vault.destroy(name, released.holding.accepted)

    def _knows_history(self) -> bool:
        """Whether everything that was released is on record."""
        return self._vault.history in (None, self._storage.history)

    def _keys_in_use(self) -> dict[bytes, tuple[SealingKey, bytes]]:
        """The newest key, and those that a collection in progress names; older ones are destroyed."""
        named = {task.collection.keys[task.server] for task in self._tasks.values()}
        made = {key.public: (key, secret) for key, secret in map(_sealing, self._vault.keys)}
        self._vault.keep_keys([secret for public, (_, secret) in made.items() if public in named])
        return {key.public: (key, secret) for key, secret in map(_sealing, self._vault.keys)}

    def _destroy_keys(self) -> None:
        """Once no collection in progress names an older key any more, it goes."""
        if len(self._sealings) > 1:
            self._sealings = self._keys_in_use()

    @property
    def sealing_key(self) -> SealingKey:
        """What opens the shares that are sealed to this server from now on."""
        return next(iter(self._sealings.values()))[0]

    @property
    def witness_key(self) -> bytes:
        """What the server signs with, for as long as it remembers."""
        return self._witness.public

    def sealing_key_of(self, collection: bytes) -> SealingKey:
        """What opens the shares of a collection."""
        return self._key_of(self._task(collection).collection)[0]

    def commitment(self, collection_id: bytes) -> bytes:
        """To the key that a collection of that identifier is verified with, if this server leads it."""
        return commitment_to(verify_key_of(self._vault.keys[0], collection_id))

    def open(self, collection: Collection, owner: str = "") -> bool:
        """Get ready for a collection of somebody's; returns whether its set of reports is final already."""
        if self._storage.released(collection.digest) is not None:
            return True
        if collection.digest in self._tasks:
            task = self._tasks[collection.digest]
            if task.owner != owner:
                raise PolicyRefused("somebody else has opened this collection; begin a new one")
            return task.sealed is not None
        self._require_bound(collection)
        self.expire()
        self._policy.require(collection, self._clock(), len(self._tasks))
        task = self._task_of(KeptCollection(collection, owner))
        self._policy.require_room(self._bytes_held() + task.bytes_held)
        self._vault.make(collection.digest)
        self._storage.open(collection, owner)
        self._tasks[collection.digest] = task
        return False

    def _require_bound(self, collection: Collection) -> None:
        """Refuse a collection of a server that this one is not, or not any more."""
        number, binding = collection.number_of(self.name), collection.binding
        if binding.keys[number] != self.sealing_key.public:
            raise InvalidParameter("the collection has another key for this share server")
        if binding.witnesses[number] != self._witness.public:
            raise InvalidParameter(
                "the collection is of a time that this share server does not remember; begin a new one"
            )
        if number == 0 and binding.commitment != self.commitment(collection.collection_id):
            raise InvalidParameter(
                "the collection has another verification key than this server committed to"
            )

    def expire(self) -> None:
        """Drop what has ended without a release."""
        now = self._clock()
        for name in [name for name, task in self._tasks.items() if task.collection.binding.ends <= now]:
            if self._vault.secret(name) is not None:
                self._vault.destroy(name)
            self._storage.drop(name)
            self._forget(name)
        self._destroy_keys()

    def _forget(self, collection: bytes) -> None:
        del self._tasks[collection]
        self._checks.forget(collection)

    def _bytes_held(self) -> int:
        """What all collections in progress take."""
        return sum(task.bytes_held for task in self._tasks.values())

    def note_check(self, collection: bytes, checked: Checked) -> None:
        """Remember what another thread computed about a block, if the collection is still in progress."""
        if collection in self._tasks:
            self._checks.note(self._tasks[collection], checked)

    def in_progress(self, collection: bytes) -> bool:
        """Whether a collection is open and was not released."""
        return collection in self._tasks

    def collection(self, collection: bytes) -> Collection:
        """The collection in progress of a digest."""
        return self._task(collection).collection

    def owner(self, collection: bytes) -> str:
        """Who opened a collection; empty if nobody said."""
        released = self._storage.released(collection)
        return self._task(collection).owner if released is None else released.owner

    def opening(self, collection: bytes) -> Opening:
        """That this server opened a collection, once, with one secret."""
        task = self._task(collection)
        if task.opening is None:
            secret = self._vault.secret(collection)
            assert secret is not None  # or there were no task
            shown = NoiseSeeds.of(secret).key if task.collection.plan.is_proved else secret
            task.opening = self._witness.opening(collection, shown)
        return task.opening

    def _key_of(self, collection: Collection) -> tuple[SealingKey, bytes]:
        """The key of this server that a collection names."""
        return self._sealings[collection.keys[collection.number_of(self.name)]]

    def _task_of(self, kept: KeptCollection) -> CollectionTask:
        return CollectionTask(kept, self._storage, kept.collection.number_of(self.name))

    def _task(self, collection: bytes) -> CollectionTask:
        task = self._tasks.get(collection)
        if task is None:
            raise UnknownCollection("this share server has not opened that collection, or it has ended")
        if task.collection.binding.ends <= self._clock():
            raise CollectionClosed("the collection has ended")
        return task


def _sealing(secret: bytes) -> tuple[SealingKey, bytes]:
    return SealingKey.derived(derive_key(secret, b"sealing")), secret


def verify_key_of(secret: bytes, collection_id: bytes) -> bytes:
    """The key that a collection of that identifier is verified with, if the server with this secret leads it."""
    return derive_key(secret, b"verify", collection_id)
