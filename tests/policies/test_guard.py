"""Users' own policies: found, compiled, as good as built-in ones; and stopped in one line that names them if not."""

from __future__ import annotations

import dataclasses
import textwrap

import pytest

from penstock.engine import Run, simulate
from penstock.model import Application, InputError, Platform, PolicyFault, Workload
from penstock.numeric.compiled import JIT
from penstock.policies import REGISTRY, find

FAIR = """
    def mine(view, rates):
        '''The same fraction for everyone.'''
        total = 0.0
        for cap in view.cap:
            total += cap
        share = min(1.0, view.bandwidth / total)
        for i in range(len(rates)):
            rates[i] = share * view.cap[i]
"""


def workload(window=(0.0, 20.0)):
    return Workload(
        Platform(1.0, 0.75),
        tuple(Application.of(f"app{i}", [("work", 0.5 * i), ("io", 2.0), ("work", 1.0), ("io", 1.5)]) for i in range(3)),
        window,
    )


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file of policies into the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(source, name="mine.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    return write


# Built-in fair-share in the general loop, which is where users' policies run; in virtual time the last bit differs.
GENERAL = dataclasses.replace(find("fair-share"), proportional=False)


def same(result, other):
    return [a.to_dict() for a in result.applications] == [a.to_dict() for a in other.applications]


# ------------------------------------------------------------------ good ones


def test_from_a_file(write):
    write(FAIR)
    policy = find("./mine.py:mine")
    assert (policy.name, policy.summary, policy.built_in) == ("./mine.py:mine", "The same fraction for everyone.", False)
    result = simulate(workload(), policy, check=True)
    assert same(result, simulate(workload(), GENERAL))
    assert result.policy == "./mine.py:mine"


def test_from_an_absolute_path(write):
    path = write(FAIR)
    assert same(simulate(workload(), f"{path}:mine"), simulate(workload(), GENERAL))


def test_from_a_module(write):
    write("", "penstock_users/__init__.py")
    write(FAIR, "penstock_users/sharing.py")
    assert same(simulate(workload(), "penstock_users.sharing:mine"), simulate(workload(), GENERAL))


def test_with_helpers_and_constants_of_its_own(write):
    write("""
        import numba
        import numpy as np
        SHARE = 1.0

        @numba.njit
        def total(caps):
            return np.sum(caps)

        def mine(view, rates):
            rates[:] = view.cap * min(SHARE, view.bandwidth / total(view.cap))
    """)
    assert simulate(workload(), "./mine.py:mine").min_yield == pytest.approx(simulate(workload(), "fair-share").min_yield)


def test_two_files_of_one_name(write):
    for folder, share in (("one", 0.5), ("two", 0.25)):
        write(
            f"SHARE = {share}\ndef mine(view, rates):\n    rates[:] = SHARE * view.bandwidth / len(rates)\n",
            f"{folder}/same.py",
        )
    alone = Workload(Platform(1.0), (Application.of("a", [("io", 1.0)]),))
    ends = [simulate(alone, f"./{folder}/same.py:mine").applications[0].end for folder in ("one", "two")]
    assert ends == [2.0, 4.0]


def test_a_changed_file_is_read_anew(write):
    alone = Workload(Platform(1.0), (Application.of("a", [("io", 1.0)]),))
    for share, end in ((0.5, 2.0), (0.25, 4.0)):
        write(f"SHARE = {share}\ndef mine(view, rates):\n    rates[:] = SHARE * view.bandwidth / len(rates)\n")
        assert simulate(alone, "./mine.py:mine").applications[0].end == end


def test_a_file_named_like_a_library(write):
    write(FAIR, "random.py")
    assert same(simulate(workload(), "./random.py:mine"), simulate(workload(), GENERAL))


def test_a_policy_object_of_the_users(write):
    write(
        textwrap.dedent(FAIR)
        + "from penstock.policies import Policy\nMINE = Policy('my-own', mine, 'mine', built_in=False)\n"
    )
    result = simulate(workload(), "./mine.py:MINE")
    assert result.policy == "my-own"
    assert same(result, simulate(workload(), GENERAL))


def test_it_sees_what_the_engine_has(write):
    # It gives all to the application with the highest index if all columns say what they should, and nothing at all if not.
    write("""
        def mine(view, rates):
            rates[:] = 0.0
            best = 0
            for i in range(len(rates)):
                fine = (view.cap[i] == 0.75 and view.release[i] == 0.0 and view.nodes[i] == 1.0 and view.window_end == 20.0
                        and 0.0 < view.remaining[i] <= 2.0 and view.posted[i] <= view.now + 1e-9
                        and view.progress[i] <= view.now + 1e-9)
                if not fine:
                    return
                if view.application[i] > view.application[best]:
                    best = i
            rates[best] = view.cap[best]
    """)
    assert simulate(workload(), "./mine.py:mine").applications[2].waiting == 0.0


# ------------------------------------------------------------------ faulty ones

BODIES = {
    "over the bandwidth": (
        "rates[:] = view.cap",
        PolicyFault,
        r"its rates add up to 1\.5; expected at most the bandwidth 1\.0",
    ),
    "above a cap": (
        "rates[:] = 0.0; rates[0] = 0.9",
        PolicyFault,
        r"it gave application 'app\d' the rate 0\.9; expected 0 to its cap 0\.75",
    ),
    "infinite": (
        "rates[:] = 0.0; rates[0] = np.inf",
        PolicyFault,
        r"it gave application 'app\d' the rate inf; expected 0 to its cap 0\.75",
    ),
    "negative": (
        "rates[:] = 0.1; rates[0] = -0.5",
        PolicyFault,
        r"it gave application 'app\d' the rate -0\.5; expected 0 to its cap 0\.75",
    ),
    "not a number": ("rates[:] = np.nan", PolicyFault, r"it gave application 'app\d' no rate or one that is not a number"),
    "nothing written": ("pass", PolicyFault, r"it gave application 'app\d' no rate or one that is not a number"),
    "not all written": (
        "rates[0] = 0.1\n    if len(rates) > 1:\n        return",
        PolicyFault,
        r"no rate or one that is not a number",
    ),
    "raising": ("raise ValueError('no idea')", PolicyFault, r"it failed with ValueError: no idea"),
    "raising in two lines": ("raise ValueError('no\\nidea')", PolicyFault, r"it failed with ValueError: no idea"),
    "index out of range": (
        "rates[:] = 0.1; rates[len(rates) + 7] = 0.1",
        PolicyFault,
        r"it failed with IndexError: .*out of bounds",
    ),
    "index far out of range": (
        "rates[:] = 0.1; rates[10**9] = 0.1",
        PolicyFault,
        r"it failed with IndexError: .*out of bounds",
    ),
    "wrong shape": ("rates[:] = np.zeros(len(rates) + 1)", PolicyFault, r"it failed with ValueError: .*"),
    "a generator": ("yield 1", PolicyFault, r"no rate or one that is not a number"),
    "no bandwidth for anyone": (
        "rates[:] = 0.0",
        PolicyFault,
        r"it gives no bandwidth to anyone and nothing else will happen",
    ),
}


@pytest.mark.parametrize(("body", "error", "text"), BODIES.values(), ids=BODIES)
def test_a_faulty_policy_is_stopped(write, body, error, text):
    write(f"import numpy as np\ndef mine(view, rates):\n    {body}\n")
    with pytest.raises(error, match=text) as caught:
        simulate(workload(window=None), "./mine.py:mine")
    message = str(caught.value)
    assert message.startswith("policy ./mine.py:mine: at ")
    assert "\n" not in message


def test_a_faulty_policy_object_is_stopped(write):
    write("""
        from penstock.policies import Policy
        def mine(view, rates):
            raise ValueError("no idea")
        MINE = Policy("my-own", mine, "mine")
    """)
    with pytest.raises(PolicyFault, match=r"^policy my-own: at 0\.0 s it failed with ValueError: no idea$"):
        simulate(workload(window=None), "./mine.py:MINE")


def test_a_fault_in_the_middle_says_when(write):
    # app0 posts at 0, app1 at 0.5: from then on two are active and the sum is above B.
    write("def mine(view, rates):\n    rates[:] = view.cap\n")
    run = Run(workload(), "./mine.py:mine")
    with pytest.raises(PolicyFault, match=r"^policy \./mine\.py:mine: at 0\.5 s its rates add up to 1\.5"):
        run.finish()
    assert run.now == 0.5


def test_a_slip_in_the_last_digits_is_forgiven(write):
    write("def mine(view, rates):\n    rates[:] = (1.0 + 1e-12) * min(0.75, 1.0 / len(rates))\n")
    assert simulate(workload(), "./mine.py:mine").min_yield == pytest.approx(simulate(workload(), GENERAL).min_yield)


@pytest.mark.parametrize("column", ["cap", "remaining", "progress"])
def test_the_view_cannot_be_written(write, column):
    write(f"def mine(view, rates):\n    rates[:] = 0.1\n    view.{column}[0] = 0.0\n")
    with pytest.raises((InputError, PolicyFault), match=r"^policy \./mine\.py:mine: .*read-?only.*") as caught:
        simulate(workload(), "./mine.py:mine")
    assert "\n" not in str(caught.value)


def test_scratch_and_order_may_be_written(write):
    write(
        "def mine(view, rates):\n    view.scratch[:] = 3.0\n    view.order[:] = 0\n    rates[:] = 1.0 / len(rates) * 0.75\n"
    )
    assert [a.operations for a in simulate(workload(), "./mine.py:mine").applications] == [2, 2, 2]


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    "body",
    [
        "rates[:] = {1: [object()]}.get(3)",
        "open('/dev/null')",
        "rates[:] = view.wrong",
        "rates[:] = 'fast'",
        "rates[:] = undefined",
        "import json; rates[:] = json.loads('1')",
    ],
)
def test_what_cannot_be_compiled_is_refused(write, body):
    write(f"def mine(view, rates):\n    {body}\n")
    with pytest.raises(
        InputError, match=r"^policy \./mine\.py:mine: it cannot be compiled: .*; expected what numba can compile$"
    ) as caught:
        simulate(workload(), "./mine.py:mine")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


FILES = {
    "no such function": (
        "def other(view, rates): pass",
        "./mine.py:mine",
        r"no function 'mine' there; expected one of other",
    ),
    "nothing there": ("X = 1", "./mine.py:mine", r"no function 'mine' there; expected one of none"),
    "no function": ("mine = 3", "./mine.py:mine", r"no function 'mine' there"),
    "one argument": (
        "def mine(view): pass",
        "./mine.py:mine",
        r"it does not take two arguments; expected a function of \(view, rates\)",
    ),
    "three arguments": ("def mine(a, b, c): pass", "./mine.py:mine", r"it does not take two arguments"),
    "syntax error": ("def mine(view, rates:\n    pass", "./mine.py:mine", r"the file fails with SyntaxError: .*"),
    "raises on import": (
        "raise RuntimeError('not\\ntoday')",
        "./mine.py:mine",
        r"the file fails with RuntimeError: not today",
    ),
    "leaves on import": ("import sys; sys.exit(3)", "./mine.py:mine", r"the file fails with SystemExit: 3"),
    "missing file": ("", "./other.py:mine", r"there is no file \./other\.py; expected a Python file"),
    "a folder": ("", "./folder.py:mine", r"there is no file \./folder\.py"),
    "missing module": ("", "penstock_no_such.module:mine", r"the import fails with ModuleNotFoundError: .*penstock_no_such"),
}


@pytest.mark.parametrize(("source", "name", "text"), FILES.values(), ids=FILES)
def test_what_cannot_be_found_is_refused(write, source, name, text):
    write(source)
    write("", "folder.py/inside.txt")
    with pytest.raises(InputError, match=text) as caught:
        find(name)
    assert str(caught.value).startswith(f"policy {name}: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text(write, tmp_path):
    (tmp_path / "mine.py").write_bytes(b"\x00\xff\xfe" * 10)
    with pytest.raises(InputError, match=r"^policy \./mine\.py:mine: the file fails with "):
        find("./mine.py:mine")


# ------------------------------------------------------------------ names


@pytest.mark.parametrize("name", ["fair-sharing", "", "FCFS", "mine.py", "a:b:c", ":", "a-b:c", "./x:y"])
def test_an_unknown_name_lists_the_valid_ones(name):
    with pytest.raises(InputError) as caught:
        find(name)
    message = str(caught.value)
    assert message.startswith(f"policy {name}: unknown; expected one of ")
    assert all(valid in message for valid in REGISTRY)
    assert "\n" not in message


@pytest.mark.parametrize("name", list(REGISTRY))
def test_every_name_is_found(name):
    assert find(name) is REGISTRY[name]


@pytest.mark.parametrize(("text", "seconds"), [("60", 60.0), ("0.5", 0.5), ("1 min", 60.0), ("2 h", 7200.0), ("1e-3", 1e-3)])
def test_the_period(text, seconds):
    policy = find(f"periodic-greedy-yield:delta={text}")
    assert policy.delta == seconds
    assert policy.name == f"periodic-greedy-yield:delta={text}"
    assert REGISTRY["periodic-greedy-yield"].delta is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "periodic-greedy-yield:delta=0",
            r"^policy periodic-greedy-yield: delta: '0' is no period; expected seconds above 0$",
        ),
        ("periodic-greedy-yield:delta=-1", r"^policy periodic-greedy-yield: delta: .*-1"),
        ("periodic-greedy-yield:delta=nan", r"^policy periodic-greedy-yield: delta: .*nan"),
        ("periodic-greedy-yield:delta=inf", r"^policy periodic-greedy-yield: delta: .*inf"),
        ("periodic-greedy-yield:delta=soon", r"^policy periodic-greedy-yield: delta: .*soon"),
        ("periodic-greedy-yield:delta=", r"^policy periodic-greedy-yield: delta: "),
        ("periodic-greedy-yield:delta=3 GB", r"^policy periodic-greedy-yield: delta: .*3 GB"),
        (
            "periodic-greedy-yield:delta",
            r"^policy periodic-greedy-yield:delta: 'delta' is no parameter; expected name:key=value$",
        ),
        ("periodic-greedy-yield:epsilon=3", r"^policy periodic-greedy-yield: unknown parameter 'epsilon'; expected delta$"),
        (
            "periodic-greedy-yield:delta=1:epsilon=3",
            r"^policy periodic-greedy-yield: unknown parameter 'epsilon'; expected delta$",
        ),
        ("fcfs:delta=3", r"^policy fcfs: unknown parameter 'delta'; it has none$"),
    ],
)
def test_wrong_parameters(name, text):
    with pytest.raises(InputError, match=text):
        find(name)
