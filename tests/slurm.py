"""A private Slurm for tests: real daemons, all state in one folder, the loopback only, gone afterwards."""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "setpriv")
OF_ACCOUNTING = ("mariadbd", "slurmdbd", "sacctmgr", "sacct")

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/{gather}
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} RealMemory=8000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

TO_DATABASE = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
JobAcctGatherFrequency=task=1
"""

DATABASE = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StorageLoc=slurm
CommunicationParameters=NoInAddrAny
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
"""


@dataclass(frozen=True)
class Slurm:
    """A running Slurm with the partition ``main``; `environment` is what its commands need."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def call(self, *command: str) -> str:
        """What a command of Slurm prints."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout

    def jobs(self) -> list[str]:
        """The numbers of the jobs that have not ended."""
        return self.call("squeue", "--noheader", "--format=%i").split()

    def wait_until_ended(self, *jobs: str) -> None:
        """Wait until these jobs have ended and are in the file of completed jobs."""
        completed = self.folder / "jobcomp.txt"
        numbers = ",".join(jobs)
        wait_until(
            lambda: (
                not self.call("squeue", "--noheader", f"--jobs={numbers}", "--format=%i").split()
                and all(f"JobId={job} " in completed.read_text() for job in jobs)
            ),
            lambda: f"jobs {numbers} do not end: " + _said(self.folder),
        )


def missing(*, accounting: bool = False) -> str | None:
    """What a private Slurm, with a database if `accounting`, would need and this machine does not have."""
    needed = (*PROGRAMS, *OF_ACCOUNTING) if accounting else PROGRAMS
    lacking = [program for program in needed if shutil.which(program) is None]
    if os.geteuid() != 0:
        lacking.append("root")
    return f"a private Slurm needs {', '.join(lacking)}" if lacking else None


@contextmanager
def running(nodes: int = 2, cpus: int = 2, *, accounting: bool = False) -> Iterator[Slurm]:
    """A Slurm of `nodes` nodes that claim `cpus` processors each, whatever the machine has; with `accounting` for sacct."""
    # Not in the folder of the test: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    slurm = Slurm(folder)
    try:
        _configure(folder, nodes, cpus, accounting)
        with ExitStack() as daemons:
            daemons.callback(_kill_what_is_left, folder)
            munge = folder / "munge"
            files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
            options = [f"--{option}={munge / name}" for option, name in files.items()]
            daemons.enter_context(_daemon(slurm, "munged", "--foreground", *options))
            wait_until((munge / "socket").exists, lambda: "munged has no socket: " + _said(folder))
            if accounting:
                _start_accounting(slurm, daemons)
            daemons.enter_context(_daemon(slurm, "slurmctld", "-D"))
            for node in range(1, nodes + 1):
                daemons.enter_context(_daemon(slurm, "slurmd", "-D", "-N", f"n{node}"))
            daemons.callback(_cancel_all, slurm)
            wait_until(lambda: _idle(slurm) == nodes, lambda: "the nodes are not idle: " + _said(folder))
            yield slurm
    finally:
        shutil.rmtree(folder)


def _configure(folder: Path, nodes: int, cpus: int, accounting: bool) -> None:
    folder.chmod(0o755)  # munged wants its socket to be reachable by all
    for name in ("munge", "state", "database", *(f"spool.n{node}" for node in range(1, nodes + 1))):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(random.randbytes(128))
    port = _free_ports(3 + nodes)
    host = socket.gethostname().partition(".")[0]
    text = CONFIGURATION.format(
        folder=folder,
        host=host,
        port=port,
        first=port + 1,
        last=port + nodes,
        nodes=nodes,
        cpus=cpus,
        gather="linux" if accounting else "none",
    )
    own = port + nodes + 1
    (folder / "slurm.conf").write_text(text + TO_DATABASE.format(folder=folder, port=own) * accounting)
    (folder / "port").write_text(str(own + 1))
    database = folder / "slurmdbd.conf"
    database.touch(mode=0o600)
    database.write_text(DATABASE.format(folder=folder, port=own, database=own + 1))


def _start_accounting(slurm: Slurm, daemons: ExitStack) -> None:
    """Start a database without users, which listens on the loopback only, and Slurm's daemon in front of it."""
    folder = slurm.folder
    files = {"datadir": "database", "socket": "database/socket", "pid-file": "database/pid"}
    options = [*(f"--{option}={folder / name}" for option, name in files.items()), f"--port={(folder / 'port').read_text()}"]
    plain = ("--no-defaults", "--user=root", "--skip-grant-tables", "--bind-address=127.0.0.1")
    daemons.enter_context(_daemon(slurm, "mariadbd", *plain, *options))
    wait_until((folder / "database/socket").exists, lambda: "mariadbd has no socket: " + _said(folder))
    daemons.enter_context(_daemon(slurm, "slurmdbd", "-D"))
    wait_until(lambda: _answers(slurm, "sacctmgr", "-i", "add", "cluster", "test"), lambda: "no slurmdbd: " + _said(folder))


def _answers(slurm: Slurm, *command: str) -> bool:
    with suppress(subprocess.SubprocessError):
        return bool(slurm.call(*command))
    return False


def _free_ports(count: int) -> int:
    """The first of `count` ports in a row that nobody uses, below those that the system gives to connections."""
    while True:
        first = random.SystemRandom().randrange(12_000, 30_000)
        with ExitStack() as held, suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


@contextmanager
def _daemon(slurm: Slurm, *command: str) -> Iterator[None]:
    """A daemon in the foreground, ended with the block, and with this process should it be killed."""
    with (slurm.folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            env={**os.environ, **slurm.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _idle(slurm: Slurm) -> int:
    try:
        return slurm.call("sinfo", "--noheader", "--Node", "--format=%T").split().count("idle")
    except subprocess.CalledProcessError:
        return 0


def _said(folder: Path) -> str:
    """The last lines of the logs."""
    return "\n".join(line for log in folder.rglob("*log") for line in log.read_text().splitlines()[-10:])


def _cancel_all(slurm: Slurm) -> None:
    with suppress(subprocess.SubprocessError, AssertionError):
        slurm.call("scancel", "--user=root")
        wait_until(lambda: not slurm.jobs(), lambda: "jobs do not end", seconds=10.0)


def _kill_what_is_left(folder: Path) -> None:
    """Kill what jobs have left behind: processes that were started with this Slurm's configuration."""
    mark = f"SLURM_CONF={folder}/".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def wait_until(condition: Callable[[], bool], otherwise: Callable[[], str], seconds: float = 60.0) -> None:
    """Wait until the `condition` holds; fail with what `otherwise` says after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, otherwise()
        time.sleep(0.05)
