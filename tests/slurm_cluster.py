"""A real SLURM on this machine, for tests: munge, slurmctld and one slurmd a node, all our own.

It needs the commands of slurmctld, slurmd, slurm-client and munge, and neither systemd nor root.
Nodes share this machine: each has 4 CPUs by name and 2 GPUs that are links to ``/dev/null``.

    debug    n1, n2              where nothing disturbs
    victim   v1, v2              its jobs are preempted and requeued by those of `urgent`
    graced   g1                  the same, after a grace time of 60 s
    urgent   v1, v2, g1          outranks both

Whether a job has ended is asked for by polling: ``sbatch --wait`` looks every 2 s.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "srun")
PACKAGES = "slurmctld slurmd slurm-client munge"
GPUS = 2
NODES = {"debug": ("n1", "n2"), "victim": ("v1", "v2"), "graced": ("g1",)}
_ALL = [name for names in NODES.values() for name in names]

_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={root}/run/munge.sock,cred_expire=5
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/slurmd-%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/slurmd-%n.log
PlugStackConfig={root}/plugstack.conf
Epilog={root}/epilog
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=10000,batch_sched_delay=0,defer_batch=0
SlurmctldParameters=preempt_send_user_signal
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
KillWait=3
InactiveLimit=0
JobRequeue=1
GresTypes=gpu
AccountingStorageType=accounting_storage/none
"""

#: Ends what a job leaves behind on a node, as control groups do on a real cluster. Processes of the
#: epilog itself know the job's id, too, but nothing of its cores.
_EPILOG = """\
#!/bin/sh
found=$(grep -lzx "SLURM_JOB_ID=$SLURM_JOB_ID" /proc/[0-9]*/environ 2>/dev/null)
for file in $(grep -lz "^SLURM_CPUS_ON_NODE=" $found /dev/null 2>/dev/null); do
  process=${file#/proc/}
  kill -9 "${process%/environ}"
done
exit 0
"""


def missing_commands() -> list[str]:
    """Which of the commands that a cluster needs are not on this machine."""
    return [name for name in COMMANDS if shutil.which(name, path=_path()) is None]


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Cluster:
    """One running SLURM. Its folder holds configuration, keys, state and logs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = os.environ | {"SLURM_CONF": str(root / "slurm.conf"), "PATH": _path()}
        self._daemons: dict[str, int] = {}

    def start(self) -> None:
        """Start every daemon and wait until all nodes are idle."""
        for name in ("state", "log", "run", "dev", *(f"spool/{node}" for node in _ALL)):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)  # munge wants its socket to be reachable for everybody
        self._configure()
        run = self.root / "run"
        self._spawn(
            "munged",
            "munged",
            f"--key-file={self.root}/munge.key",
            f"--socket={run}/munge.sock",
            f"--pid-file={run}/munged.pid",
            f"--log-file={self.root}/log/munged.log",
            f"--seed-file={self.root}/munge.seed",
        )
        self._spawn("slurmctld", "slurmctld", "-f", self.environment["SLURM_CONF"])
        for node in _ALL:
            self.start_node(node)
        wait_for(lambda: self._idle() == len(_ALL), "every node to be idle", 30.0)

    def start_node(self, node: str) -> None:
        """Start a node's daemon."""
        self._spawn(f"slurmd-{node}", "slurmd", "-N", node, "-f", self.environment["SLURM_CONF"])

    def crash_node(self, node: str) -> None:
        """End everything that runs on a node, as when its power fails, and tell SLURM."""
        self._kill(f"slurmd-{node}", signal.SIGKILL)
        jobs = list(_processes_with(f"SLURMD_NODENAME={node}", f"SLURM_CONF={self.root}"))
        # First who watches over a job: nobody is left to report how it ended.
        watchers = {parent for job in jobs if _is_step_daemon(parent := _parent(job))}
        for process in (*watchers, *jobs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.scontrol("update", f"nodename={node}", "state=down", "reason=crashed")

    def stop(self) -> None:
        """End all jobs and all daemons that this cluster started."""
        if "slurmctld" in self._daemons:
            self.call("scancel", "--me", check=False)
            with contextlib.suppress(AssertionError):
                wait_for(lambda: not self.call("squeue", "--noheader"), "jobs to end", 20)
        for name in [*self._daemons][::-1]:
            self._kill(name, signal.SIGTERM)
        for process in _processes_with("SLURM_JOB_ID=", f"SLURM_CONF={self.root}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def call(self, *words: str, check: bool = True) -> str:
        """Run one of SLURM's commands and return what it prints."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert not check or done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def scontrol(self, *words: str) -> str:
        """Run ``scontrol``."""
        return self.call("scontrol", *words)

    def state(self, job: str) -> str:
        """State of a job or of one array task, as SLURM says it."""
        return self.call("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T")

    def logs(self) -> str:
        """Ends of the daemons' logs, for a message."""
        return "\n".join(
            f"{path.name}: {path.read_text(errors='replace')[-1500:]}"
            for path in sorted((self.root / "log").iterdir())
        )

    def _configure(self) -> None:
        self._key()
        for gpu in range(GPUS):
            # SLURM wants character devices, else it sets no CUDA_VISIBLE_DEVICES.
            (self.root / "dev" / f"gpu{gpu}").symlink_to("/dev/null")
        host, port = platform.node().split(".")[0], _free_ports(1 + len(_ALL))
        lines = [_CONF.format(root=self.root, host=host, port=port, user=getpass.getuser())]
        lines += [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + 1 + at} CPUs=4 "
            f"RealMemory=8192 Gres=gpu:{GPUS} State=UNKNOWN\n"
            for at, node in enumerate(_ALL)
        ]
        outranked = ",".join((*NODES["victim"], *NODES["graced"]))
        lines += [
            _partition("debug", ",".join(NODES["debug"]), "Default=YES PreemptMode=OFF"),
            _partition("victim", ",".join(NODES["victim"]), "PriorityTier=1"),
            _partition("graced", ",".join(NODES["graced"]), "PriorityTier=1 GraceTime=60"),
            _partition("urgent", outranked, "PriorityTier=10 PreemptMode=OFF"),
        ]
        (self.root / "slurm.conf").write_text("".join(lines))
        gpus = f"AutoDetect=off\nName=gpu File={self.root}/dev/gpu[0-{GPUS - 1}]\n"
        (self.root / "gres.conf").write_text(gpus)
        (self.root / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (self.root / "plugstack.conf").touch()
        (self.root / "epilog").write_text(_EPILOG)
        (self.root / "epilog").chmod(0o755)

    def _key(self) -> None:
        key = self.root / "munge.key"
        descriptor = os.open(key, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, os.urandom(1024))
        os.close(descriptor)

    def _spawn(self, name: str, *words: str) -> None:
        # Each of these daemons goes to the background by itself and leaves its id in a file.
        path = self.root / "run" / f"{name}.pid"
        path.unlink(missing_ok=True)
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        wait_for(lambda: path.is_file() and path.read_text().strip().isdigit(), name, 20.0)
        self._daemons[name] = int(path.read_text())

    def _kill(self, name: str, number: signal.Signals) -> None:
        process = self._daemons.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: not _alive(process), f"{name} to end", 10.0)
            return
        os.kill(process, signal.SIGKILL)

    def _idle(self) -> int:
        states = self.call("sinfo", "--noheader", "--Node", "--format=%N %T", check=False)
        return len({line for line in states.splitlines() if line.endswith(" idle")})


def wait_for(holds: Callable[[], object], what: str, limit_s: float) -> None:
    """Wait until something holds; fail, naming it, when that takes too long."""
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, f"waited {limit_s:.0f} s for {what}"
        time.sleep(0.1)


def _partition(name: str, nodes: str, more: str) -> str:
    return f"PartitionName={name} Nodes={nodes} MaxTime=INFINITE DefaultTime=10 State=UP {more}\n"


def _free_ports(count: int) -> int:
    """First of so many neighbouring ports that nobody listens on."""
    for first in range(26817, 60000, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for port in range(first, first + count):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"no {count} free ports in a row")


def _alive(process: int) -> bool:
    # Not by a signal: a process that nobody has waited for still takes one.
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


def _parent(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])


def _is_step_daemon(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"slurmstepd")
    except OSError:
        return False


def _processes_with(*settings: str) -> Iterator[int]:
    """Processes whose environment holds the beginnings of all these settings."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = f"\0{(folder / 'environ').read_bytes().decode(errors='replace')}"
        except OSError:
            continue
        if all(f"\0{setting}" in environment for setting in settings):
            yield int(folder.name)
