"""The cache of compiled code, and the same results without any compiler."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import pytest

import penstock
from penstock.numeric import compiled
from penstock.policies import REGISTRY
from tests.naive.profiles import LONG

RESULTS = """
import json, sys
from penstock.engine import simulate
from penstock.policies import REGISTRY; from penstock.numeric import compiled
from penstock.workloads.synthetic import demo
from penstock.model import Workload
w = demo()
w = Workload(w.platform, w.applications, (0.0, SECONDS))
print(json.dumps({"jit": compiled.JIT, "results": {n: simulate(w, n, check=True).to_dict() for n in REGISTRY}}))
"""


def python(script, **environment):
    """Standard output of the script in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_without_the_compiler_results_are_the_same():
    """Sums in another order apart: within 1e-9, on the first minutes of the demo."""
    script = RESULTS.replace("SECONDS", "300.0" if LONG else "60.0")
    plain = json.loads(python(script, NUMBA_DISABLE_JIT="1"))
    fast = json.loads(python(script, NUMBA_DISABLE_JIT="0"))
    assert (plain["jit"], fast["jit"]) == (False, True)
    for name in REGISTRY:
        mine, other = plain["results"][name], fast["results"][name]
        assert (mine["events"], mine["decisions"]) == (other["events"], other["decisions"])
        assert [a["yield"] for a in mine["applications"]] == pytest.approx(
            [a["yield"] for a in other["applications"]], rel=1e-9
        )
        assert mine["efficiency"] == pytest.approx(other["efficiency"], rel=1e-9)


FOLDER = "from penstock.numeric import compiled; print(compiled.cache_folder())"


def test_the_cache_goes_where_it_is_told(tmp_path):
    folder = Path(python(FOLDER, PENSTOCK_CACHE_DIR=str(tmp_path / "mine")).strip())
    assert folder.is_relative_to(tmp_path / "mine")
    assert folder.is_dir()


def test_the_cache_goes_to_the_users_cache(tmp_path):
    folder = Path(python(FOLDER, PENSTOCK_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path)).strip())
    assert folder.is_relative_to(tmp_path / "penstock")


def test_compiled_code_is_kept_there(tmp_path):
    script = "from penstock.policies import REGISTRY; REGISTRY['fair-share'].compiled()"
    python(script, PENSTOCK_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert list(tmp_path.rglob("*.nbi")), "an index of compiled functions"
    package = Path(penstock.__file__).parent
    assert not list(package.rglob("*.nbi")), "nothing beside the sources"


def test_a_second_process_finds_it(tmp_path):
    script = "from penstock.policies import REGISTRY; REGISTRY['fair-share'].compiled()"
    for _ in range(2):
        python(script, PENSTOCK_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
        data = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
        before = locals().get("before", data)
        assert data == before
    assert data


LOADED = """
import json, sys
from penstock import simulate
from penstock.workloads import demo
def mine(view, rates):
    rates[:] = view.cap * min(1.0, view.bandwidth / view.cap.sum())
found = simulate(demo(), "fair-share").to_dict()["events"]
loaded = "numba.np.arraymath" in sys.modules
print(json.dumps([found, loaded, simulate(demo(), mine).to_dict()["events"] == found]))
"""


@pytest.mark.skipif(not compiled.JIT, reason="nothing is compiled")
def test_what_is_loaded_needs_no_registries_and_what_is_compiled_then_has_them():
    first, second = (json.loads(python(LOADED)) for _ in range(2))
    assert second == [first[0], False, True]


@pytest.mark.skipif(not compiled.JIT, reason="nothing is compiled")
def test_of_several_processes_one_compiles(tmp_path):
    script = "from penstock.policies import REGISTRY; REGISTRY['fair-share'].compiled()"
    environment = {**os.environ, "PENSTOCK_CACHE_DIR": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=200)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert sorted(text.count("compiling the policy fair-share") for text in said) == [0, 0, 1]


@pytest.mark.skipif(not compiled.JIT, reason="nothing is compiled")
def test_a_process_that_is_stopped_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_WAITING_SECONDS", 0.2)
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    with compiled._compiling_alone(compiled.array_at, "one"), compiled._compiling_alone(compiled.array_at, "another"):
        pass
    assert len(list(tmp_path.glob("*.done"))) == 2
    assert len(list(tmp_path.glob("*.lock"))) == 1


@pytest.mark.parametrize("broken", ["a file in the way", "a path that cannot be"])
def test_a_cache_that_cannot_be_written_is_no_trouble(tmp_path, broken):
    (tmp_path / "file").write_text("")
    where = str(tmp_path / "file") if broken == "a file in the way" else "/proc/penstock/no"
    fallback = tmp_path / "temporary"
    fallback.mkdir()
    folder = Path(python(FOLDER, PENSTOCK_CACHE_DIR=where, TMPDIR=str(fallback)).strip())
    assert folder.is_relative_to(fallback)


def test_with_nowhere_to_write_it_compiles_for_itself(tmp_path):
    (tmp_path / "file").write_text("")
    script = FOLDER + "\nfrom penstock.policies import REGISTRY; REGISTRY['fcfs'].compiled(); print('compiled')"
    # The fallback in the temporary folder is a file, too.
    (tmp_path / f"penstock-{os.getuid()}").write_text("")
    out = python(script, PENSTOCK_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert out.split() == ["None", "compiled"]


def test_a_cache_folder_that_disappears_while_it_compiles_is_no_trouble(tmp_path):
    """As when other installations need the room: what is compiled is used, and not kept."""
    script = FOLDER + "\nimport shutil; from numba.core.caching import _CacheLocator"
    script += "\n_CacheLocator.ensure_cache_path = lambda self: shutil.rmtree(self.get_cache_path(), ignore_errors=True)"
    script += "\nfrom penstock.policies import REGISTRY; REGISTRY['fcfs'].compiled(); print('compiled')"
    out = python(script, PENSTOCK_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="0")
    assert out.split()[-1] == "compiled"


def test_other_sources_have_another_folder(tmp_path, monkeypatch):
    """Also when the file that changed is not the one of the compiled function."""
    package = tmp_path / "penstock"
    for folder in ("policies", "engine"):
        (package / folder).mkdir(parents=True)
        (package / folder / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(compiled, "__file__", str(package / "numeric" / "compiled.py"))
    before = compiled._fingerprint()
    assert compiled._fingerprint() == before
    (package / "engine" / "one.py").write_text("x = 2\n")
    assert compiled._fingerprint() != before


def test_old_folders_are_forgotten(tmp_path):
    for age in range(8):
        folder = tmp_path / "compiled" / f"old{age}"
        folder.mkdir(parents=True)
        os.utime(folder, (1000.0 - age, 1000.0 - age))
    folder = Path(python(FOLDER, PENSTOCK_CACHE_DIR=str(tmp_path)).strip())
    left = {path.name for path in (tmp_path / "compiled").iterdir()}
    assert left == {folder.name, "old0", "old1", "old2"}


def test_folders_of_other_installations_in_use_are_kept(tmp_path):
    """Else two installations that run at one time would remove what the other one is writing."""
    hour = 3600.0
    for age in range(40):
        folder = tmp_path / "compiled" / f"used{age:02}"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - hour - age, time.time() - hour - age))
    folder = Path(python(FOLDER, PENSTOCK_CACHE_DIR=str(tmp_path)).strip())
    left = {path.name for path in (tmp_path / "compiled").iterdir()}
    assert left == {folder.name, *(f"used{age:02}" for age in range(31))}


@pytest.mark.skipif(not compiled.JIT, reason="nothing is compiled")
def test_compiling_is_announced(capsys):
    double = numba.njit(lambda number: 2 * number)
    for name in ("x", "y"):
        with compiled.announcing(f"the policy {name}"):
            assert double(2) == 4  # compiled the first time only
    assert capsys.readouterr().err == "penstock: compiling the policy x for this machine (first run only) …\n"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make a folder of somebody else's")
def test_a_folder_of_somebody_else_is_not_trusted(tmp_path):
    """Compiled code is loaded by unpickling: whoever can write the folder runs code as the user.

    In a shared /tmp anybody can make penstock-<uid> first; it must not be used then.
    """
    (tmp_path / "file").write_text("")
    foreign = tmp_path / f"penstock-{os.getuid()}"
    foreign.mkdir(mode=0o777)
    foreign.chmod(0o777)
    os.chown(foreign, 12345, 12345)
    folder = python(FOLDER, PENSTOCK_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path)).strip()
    assert folder == "None"


def test_a_users_own_cache_may_be_writable_by_its_group(tmp_path):
    script = "import os; os.umask(0o002)\n" + FOLDER
    folder = python(script, PENSTOCK_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path)).strip()
    assert Path(folder).is_relative_to(tmp_path / "penstock")


def test_an_interrupt_that_a_compilation_turns_into_an_error_is_an_interrupt():
    def swallow(then: Exception | None) -> None:
        with contextlib.suppress(KeyboardInterrupt):  # as LLVM's callbacks do
            signal.raise_signal(signal.SIGINT)
        if then is not None:
            raise then

    for then in (RuntimeError("no compiled object yet"), None):
        with pytest.raises(KeyboardInterrupt), compiled.announcing("nothing"):
            swallow(then)
    with pytest.raises(RuntimeError, match="another"), compiled.announcing("nothing"):
        raise RuntimeError("another")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_long_call_can_be_interrupted():
    begun, over = threading.Event(), threading.Event()

    def long() -> None:
        begun.set()
        over.wait()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        compiled.call_interruptibly(long)
    over.set()


def test_a_call_in_a_thread_gives_what_it_gives():
    assert compiled.call_interruptibly(divmod, 7, 3) == (2, 1)
    with pytest.raises(ZeroDivisionError):
        compiled.call_interruptibly(divmod, 7, 0)
