"""A process that wants to lead, and would send a request each millisecond in which it may.

Run as: ``python contender.py KUBECONFIG NAMESPACE LOG``. Each time on a line of the log is one of the boot clock, which
all processes of a machine share: ``taken T`` when it took the lease, ``sent T`` for what it would have sent. A lost
lease ends it with 1, SIGTERM with 0.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from compiler.duration import MILLISECOND, SECOND
from runtime.clock import boot_clock
from runtime.cluster.kube import open_cluster
from runtime.cluster.leadership import LeaseTimes


async def contend(kubeconfig: str, namespace: str, log: Path) -> int:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    times = LeaseTimes(SECOND, 700 * MILLISECOND, 100 * MILLISECOND)
    async with open_cluster(namespace, kubeconfig) as cluster, cluster.lead(times) as leadership:
        # unbuffered: what was said before a SIGKILL counts
        with log.open("ab", buffering=0) as file:
            file.write(f"taken {leadership.taken_at}\n".encode())
            while not leadership.is_lost and not stopped.is_set():
                now = boot_clock()
                if leadership.may_send(now):
                    file.write(f"sent {now}\n".encode())
                await asyncio.sleep(0.001)
        return int(leadership.is_lost)


if __name__ == "__main__":
    sys.exit(asyncio.run(contend(sys.argv[1], sys.argv[2], Path(sys.argv[3]))))
