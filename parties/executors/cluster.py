"""A Dask cluster as an executor (extra `scale`): one that runs somewhere, or one of this machine.

What is set for a cluster of this machine, and why: the heap is kept (glibc would hand back what every block asks for
again), workers use one thread each, the profiler is off (it looks into every worker a hundred times a second), and
everything listens on loopback, dashboards too.  The scheduler hands out again what a dead worker had; a nanny replaces the
worker.  Of a cluster that runs somewhere its operator says all that; `docs/scale.md` has the lines.

Dask sends functions and results as pickles: whoever can reach its scheduler runs what they like on its workers, and a
scheduler or a worker runs what it likes in the client, which unpickles results.  So both are one's own, reached over
loopback or TLS, and what is sent there is made-up people, or reports that are private already.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from localdp.errors import InvalidParameter, Unreachable

if TYPE_CHECKING:
    from distributed import Client

_Result = TypeVar("_Result")
LOOPBACK = "127.0.0.1"
KEPT_BYTES = str(1 << 28)  # of free memory at the top of the heap, and of a block that comes from the heap
SETTINGS: dict[str, object] = {
    "distributed.nanny.pre-spawn-environ": {
        "MALLOC_TRIM_THRESHOLD_": KEPT_BYTES,
        "MALLOC_MMAP_THRESHOLD_": KEPT_BYTES,
        "OMP_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
    },
    "distributed.worker.profile.enabled": False,
    "distributed.logging.distributed": "error",
}
CONNECT_SECONDS = 10


class DaskWorkers:
    """The workers of a Dask cluster."""

    def __init__(self, workers: int, scheduler: str | None = None, dashboard: str | None = None) -> None:
        """Those behind a scheduler such as tcp://10.0.0.7:8786; or so many of this machine."""
        distributed, dask = _require_dask()
        self._stack = contextlib.ExitStack()
        try:
            self._stack.enter_context(dask.config.set(SETTINGS))
            self._client: Client = self._stack.enter_context(
                _local(distributed, self._stack, workers, dashboard)
                if scheduler is None
                else _running(distributed, scheduler)
            )
        except BaseException:
            self._stack.close()
            raise
        self.workers = workers if scheduler is None else max(1, len(self._client.ncores()))
        self.lost: tuple[type[BaseException], ...] = (distributed.scheduler.KilledWorker,)
        self._executor: concurrent.futures.Executor = self._client.get_executor(pure=False)

    @property
    def dashboard(self) -> str:
        """Where the cluster shows what it does."""
        return str(self._client.dashboard_link)

    def submit(
        self, function: Callable[..., _Result], /, *arguments: object
    ) -> concurrent.futures.Future[_Result]:
        """Begin, soon."""
        return self._executor.submit(function, *arguments)

    def mend(self) -> None:
        """Nannies have replaced the workers by now."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for what was submitted, since nobody here knows what of it has begun; and end a cluster of this machine."""
        self._executor.shutdown(wait=wait)
        self._stack.close()


def _require_dask() -> tuple[ModuleType, ModuleType]:
    try:
        return import_module("distributed"), import_module("dask")
    except ImportError as error:
        raise InvalidParameter(
            "a Dask cluster needs the extra scale: pip install 'localdp[scale]'"
        ) from error


def _local(
    distributed: ModuleType, stack: contextlib.ExitStack, workers: int, dashboard: str | None
) -> Client:
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host=LOOPBACK,
        dashboard_address=dashboard or f"{LOOPBACK}:0",
        worker_dashboard_address=f"{LOOPBACK}:0",
        memory_limit=0,
    )
    client: Client = distributed.Client(stack.enter_context(cluster), set_as_default=False)
    return client


def _running(distributed: ModuleType, scheduler: str) -> Client:
    try:
        client: Client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Unreachable(
            f"there is no Dask scheduler at {scheduler}: start one with `dask scheduler`, or leave --scheduler out"
        ) from error
    return client
