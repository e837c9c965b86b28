"""Compiled code: numba's flags, its cache on disk, and the message shown while it compiles, all in one place.

The event loop is compiled once, with an explicit signature in which the policy is a function *by address* (`ByAddress`).
Each policy is compiled apart from it. So a new policy compiles alone, and a cached loop is never recompiled for it. With
NUMBA_DISABLE_JIT=1 everything runs as plain Python.

Which decorator to use:

- `kernel`, `direct`: entry points that Python calls, compiled for one signature;
- `inlined_kernel`: a function of a kernel, inlined into its callers, never called from Python;
- `step`, `routine`: functions that policies are made of; plain Python for Python, which calls them when a policy has failed
  in order to find the reason, and compiled code for a compiled policy;
- `inlined`, `subroutine`: functions that both compiled code and Python call.

Tables are passed to a policy by address. numba counts the references of arrays with atomic operations, two for each array
and call: a call with nine arrays cost 170 ns, without reference counts (`without_refcount`) 20 ns, by address 1 ns.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import IO, Any, Final, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import cgutils, sigutils, typeinfer
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.event import Listener, install_listener
from numba.core.imputils import impl_ret_borrowed
from numba.core.runtime import rtsys
from numba.core.typing.templates import infer_global
from numba.extending import intrinsic, overload

from penstock.numeric.inlining import InlinedCompiler

FLAGS: Final[dict[str, Any]] = {"error_model": "numpy", "boundscheck": False, "nogil": True}
"""No fastmath: results must not depend on how a sum was vectorised."""

JIT: Final = not numba.config.DISABLE_JIT

F = TypeVar("F", bound=Callable[..., Any])


def inlined(function: F) -> F:
    """Compile a `function` that both compiled code and Python call; it is inlined into its callers.

    The function can neither make nor return arrays: it is compiled without reference counts, which every call would
    otherwise pay for each array of the view or the state.
    """
    return _kept(numba.njit(forceinline=True, _nrt=False, **FLAGS)(function), function)  # type: ignore[no-any-return]


def inlined_kernel(function: F) -> F:
    """Compile a `function` of a kernel for inlining only; Python cannot call it. It has its own entry in the cache."""
    if not JIT:
        return function
    return without_literals(_kept(inlinable(function, _nrt=False), function))  # type: ignore[no-any-return]


def without_literals(compiled: Any) -> Any:
    """Make a `compiled` function treat a literal number, such as 0, like any other number.

    numba gives a literal a type of its own and would compile the function once more for it.
    """
    template = compiled.get_call_template
    compiled.get_call_template = lambda arguments, keywords: template([types.unliteral(a) for a in arguments], keywords)
    return compiled


def subroutine(function: F) -> F:
    """Compile a `function` that compiled code calls and that may make or return arrays."""
    return _kept(numba.njit(**FLAGS)(function), function)  # type: ignore[no-any-return]


def _kept(compiled: Any, function: Callable[..., Any]) -> Any:
    """Keep what is compiled of this `function` on disk, and load it from there."""
    with _cache_in(cache_folder()) as cached:
        if cached:
            compiled._cache = _QuickCache(function)
    return compiled


def kernel(function: Callable[..., Any], signature: Any, what: str) -> Callable[..., Any]:
    """Compile a function for one signature now, or load it from the cache.

    Args:
        function: what to compile.
        signature: numba's signature of it.
        what: what the function is, for the message "penstock: compiling …".

    Returns:
        The compiled function; the function itself if numba is switched off.
    """
    if not JIT:
        return function
    compiled = numba.njit(**FLAGS)(function)
    with announcing(what), _cache_in(cache_folder()) as cached, _compiling_alone(function, signature):
        if cached:
            compiled._cache = _QuickCache(function)
        with typeinfer.register_dispatcher(compiled):
            compiled.compile(signature)
    compiled.disable_compile()
    return compiled  # type: ignore[no-any-return]


def direct(function: Callable[..., Any], signature: Any, what: str) -> Callable[..., Any]:
    """Compile a `kernel` for short calls from Python: it skips the inspection of argument types, which takes longer.

    Args:
        function: what to compile.
        signature: numba's signature of it.
        what: what the function is, for the message "penstock: compiling …".

    Returns:
        The compiled function; the function itself if numba is switched off.
    """
    compiled = kernel(function, signature, what)
    return compiled.overloads[tuple(signature.args)].entry_point if JIT else compiled  # type: ignore[attr-defined]


class ByAddress(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled C function that a kernel accepts for an argument of type ``types.FunctionType(signature)``.

    Args:
        function: what to compile.
        signature: numba's signature of it.
        what: what the function is, for the message "penstock: compiling …".
        cached: whether to keep the compiled code on disk.
    """

    def __init__(self, function: Callable[..., Any], signature: Any, what: str, *, cached: bool) -> None:
        self._signature = signature
        flags = {key: value for key, value in FLAGS.items() if key != "nogil"}
        alone = _compiling_alone(function, signature) if cached else contextlib.nullcontext()
        with announcing(what, once=cached), _cache_in(cache_folder() if cached else None) as on_disk, alone:
            self._function = _c_function(function, signature, flags)
            if on_disk:
                self._function._cache = _QuickCache(function)
            self._function.compile()
        self.address = int(self._function.address)

    def __wrapper_address__(self) -> int:
        return self.address

    def signature(self) -> Any:
        """numba asks for it when the object is passed to a kernel."""
        return self._signature


def _c_function(function: Callable[..., Any], signature: Any, flags: dict[str, Any]) -> Any:
    """What `numba.cfunc` makes, not compiled yet; its annotations lack what `ByAddress` uses."""
    return CFunc(function, sigutils.normalize_signature(signature), locals={}, options=flags)


class _QuickCache(FunctionCache):  # type: ignore[misc]
    """Loads compiled code without what only a compilation needs, and goes on where it cannot be kept.

    numba imports all its registries first, and scipy where that is installed: 0.25 to 0.4 s of processor time of each start.
    A compilation imports them by itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for the signature `sig` in the `target_context` of numba; None if it is not there."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code `data` for the signature `sig`, unless the disk is full or the folder was just removed."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


def retargeted(template: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a copy of the `template` that calls this `function` where the template calls its global ``function``.

    The copy has its own globals and its own name, after which numba names its cache file. A closure would be compiled anew
    in every process.
    """
    name = f"{template.__name__}_{function.__module__}_{function.__qualname__}".replace(".", "_")
    made = FunctionType(template.__code__, {**template.__globals__, "function": function}, name)
    made.__qualname__ = name
    return made


def inlinable(function: Callable[..., Any], **flags: Any) -> Callable[..., Any]:
    """Compile the `function` for inlining into its callers only, with these `flags` of numba beside `FLAGS`."""
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options = {"forceinline": True, "pipeline_class": InlinedCompiler, **wrappers, **FLAGS, **flags}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def address(array: Any) -> Any:
    """The address of the numbers of an `array`, in compiled code; without the compiler, the array itself."""
    return array


@intrinsic  # type: ignore[untyped-decorator]
def _address(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, cgutils.intp_t)

    return types.intp(array), generate


@overload(address, strict=False)  # type: ignore[untyped-decorator]
def _compiled_address(array: Any) -> Any:
    return lambda array: _address(array)


def call_at(function: Any, a: Any, b: Any, c: Any, d: Any, e: int, f: int, g: int) -> None:
    """Call the C `function` at this address with seven whole numbers, `a` to `g`; without the compiler, the function itself.

    A kernel that takes an address takes 3 µs less for a call from Python than one that takes a `ByAddress`.
    """
    function(a, b, c, d, e, f, g)


@intrinsic  # type: ignore[untyped-decorator]
def _call_at(_: Any, place: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, *numbers = arguments
        kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [number.type for number in numbers])
        builder.call(builder.inttoptr(where, kind.as_pointer()), numbers)
        return context.get_dummy_value()

    return types.void(types.intp, *[types.intp] * 7), generate


@overload(call_at, strict=False)  # type: ignore[untyped-decorator]
def _compiled_call_at(function: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
    return lambda function, a, b, c, d, e, f, g: _call_at(function, a, b, c, d, e, f, g)


def array_at(context: Any, builder: Any, kind: Any, base: Any, start: Any, size: Any) -> Any:
    """Generate code for an array of the type `kind`: `size` entries from entry `start` of the table at the address `base`.

    `context` and `builder` are those of numba.
    """
    array = context.make_array(kind)(context, builder)
    width = cgutils.intp_t(8)
    data = builder.inttoptr(builder.add(base, builder.mul(start, width)), array.data.type)
    context.populate_array(array, data=data, shape=[size], strides=[width], itemsize=width, meminfo=None)
    return array._getvalue()


def number_at(context: Any, builder: Any, kind: Any, base: Any, place: int) -> Any:
    """Generate code that reads number `place` of the table at the address `base`, as the type `kind`.

    An integer is rounded towards 0. `context` and `builder` are those of numba.
    """
    pointer = builder.inttoptr(builder.add(base, base.type(8 * place)), context.get_value_type(types.float64).as_pointer())
    number = builder.load(pointer)
    return number if kind == types.float64 else builder.fptosi(number, context.get_value_type(kind))


def without_refcount(arrays: Any) -> Any:
    """The named tuple of `arrays` without their reference counts, in compiled code; in Python, the tuple itself."""
    return arrays


def read_only(array: Any) -> Any:
    """The `array` as one that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


@intrinsic  # type: ignore[untyped-decorator]
def _without_refcount(typing_context: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        for position, kind in enumerate(signature.return_type.types):
            if isinstance(kind, types.Array):
                array = cgutils.create_struct_proxy(kind)(context, builder, builder.extract_value(value, position))
                array.meminfo = cgutils.get_null_value(array.meminfo.type)
                array.parent = cgutils.get_null_value(array.parent.type)
                value = builder.insert_value(value, array._getvalue(), position)
        return value

    return arrays(arrays), generate


@intrinsic  # type: ignore[untyped-decorator]
def _as_read_only(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(readonly=True)(array), generate


@overload(without_refcount, strict=False)  # type: ignore[untyped-decorator]
def _compiled_without_refcount(arrays: Any) -> Any:
    return lambda arrays: _without_refcount(arrays)


@overload(read_only, strict=False)  # type: ignore[untyped-decorator]
def _compiled_read_only(array: Any) -> Any:
    return lambda array: _as_read_only(array)


@cache
def cache_folder() -> Path | None:
    """The user's folder for compiled code of exactly these sources; None where nothing can be written.

    numba renews an entry when the function's own file changes, not when a file it calls does; a folder named after all
    sources makes that impossible to get wrong, and works where the package itself is read-only.
    """
    base = os.environ.get("PENSTOCK_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock"
    )
    owner = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"penstock-{owner}"
    for parent in (Path(base), shared):
        folder = parent / "compiled" / _fingerprint()
        try:
            if parent == shared:
                parent.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK) and (parent != shared or _is_private(parent, owner)):
                _forget_old(folder)
                return folder
        except OSError:
            continue
    return None


def _is_private(folder: Path, owner: int) -> bool:
    """Whether no other user can write into this folder: cached code is executed."""
    status = folder.stat()
    return not hasattr(os, "getuid") or (status.st_uid == owner and not status.st_mode & 0o022)


def _fingerprint() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {np.__version__} {package}".encode())
    folders = ("numeric", "model", "policies", "engine", "theory", "planning", "buffers", "live/core")
    for compiled in (f"{folder}/**/*.py" for folder in folders):
        for source in sorted(package.glob(compiled)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


IN_USE_SECONDS: Final = 86_400.0
"""A folder that a process has opened within this time may be written to by it, and is not removed."""


def _forget_old(current: Path, kept: int = 4, most: int = 32) -> None:
    """Remove the folders of older sources, except the `kept` newest, and those in use up to `most` in all."""
    import shutil

    with contextlib.suppress(OSError):
        current.touch()
        dates = {folder: folder.stat().st_mtime for folder in current.parent.iterdir()}
        for place, folder in enumerate(sorted(dates, key=dates.__getitem__, reverse=True)):
            if place >= most or (place >= kept and dates[folder] < time.time() - IN_USE_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _cache_in(folder: Path | None) -> Iterator[bool]:
    """Make numba cache what is decorated inside the block in this folder; yields whether it can."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or before)
    try:
        yield folder is not None and JIT
    finally:
        numba.config.CACHE_DIR = before


MOST_WAITING_SECONDS: Final = 60.0
"""How long a process waits for another one that compiles the same function, which may be stopped."""


@contextlib.contextmanager
def _compiling_alone(function: Callable[..., Any], signature: Any) -> Iterator[None]:
    """Let one process at a time compile a function that is cached; those that wait find it in the cache.

    A mark says that it is there for this signature, so that loading needs no lock.
    """
    folder = cache_folder()
    if folder is None or not JIT:
        yield
        return
    name = hashlib.sha256(f"{function.__module__}.{function.__qualname__}".encode()).hexdigest()[:16]
    mark = folder / f"{name}.{hashlib.sha256(str(signature).encode()).hexdigest()[:16]}.done"
    if mark.exists():
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):  # where files cannot be locked each process compiles for itself
            _lock(stack.enter_context((folder / f"{name}.lock").open("w")))
        yield
        with contextlib.suppress(OSError):
            mark.touch()


def _lock(file: IO[str]) -> None:
    """Lock a file until it is closed; wait for others at most `MOST_WAITING_SECONDS`."""
    import fcntl

    latest = time.monotonic() + MOST_WAITING_SECONDS
    while time.monotonic() < latest:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.05)


@contextlib.contextmanager
def announcing(what: str, *, once: bool = True) -> Iterator[None]:
    """Print one line to standard error as soon as the block compiles anything; what the cache has is not compiled.

    Args:
        what: what the block compiles, for the line.
        once: whether the compiled code is kept, so that the line can say "first run only".
    """
    line = f"penstock: compiling {what}{' for this machine (first run only)' if once else ''} …"
    listener = _Announcement(line)
    with interruptible(), install_listener("numba:compile", listener):
        yield


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C end a compilation, or the call of a kernel, as KeyboardInterrupt.

    LLVM's callbacks swallow that, and so does numba where it looks at the arguments of a call; both then fail otherwise.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    interrupts: list[int] = []

    def note(number: int, frame: Any) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if interrupts:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts:
        raise KeyboardInterrupt


LOOK_SECONDS: Final = 0.1
"""The longest that an interruption of `call_interruptibly` can go unnoticed."""


def call_interruptibly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a kernel that may take seconds in a thread of its own, so that Ctrl-C is noticed while it runs and abandons it.

    This costs some 50 µs. Kernels release the interpreter's lock (`FLAGS`).

    Args:
        function: the kernel.
        arguments: what it is called with.

    Returns:
        What the kernel returns.

    Raises:
        BaseException: what the kernel raises, and KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def call() -> None:
        try:
            outcome.append(function(*arguments))
        except BaseException as error:  # raised again where it is waited for
            failure.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    # With a timeout: a signal that arrives just before the wait begins would not end it, and Ctrl-C would be lost.
    while thread.is_alive():
        thread.join(LOOK_SECONDS)
    if failure:
        raise failure[0]
    return outcome[0]


class _Announcement(Listener):  # type: ignore[misc]
    """Says its line when something is first compiled."""

    def __init__(self, line: str) -> None:
        self._line: str | None = line

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Something is about to be compiled."""
        if self._line is not None:
            sys.stderr.write(self._line + "\n")
            sys.stderr.flush()
            self._line = None

    def on_end(self, event: Any) -> None:
        """It has been compiled."""


def step(function: F) -> F:
    """Decorate a step of policies: the `function` itself for Python, inlined code for compiled policies.

    It is kept on disk. A user's own policy, compiled in every process, takes half the time where it uses such steps.
    """
    return _standing_for(function, inlined_kernel(function)) if JIT else function


def routine(function: F) -> F:
    """Decorate a `function` like a `step`, but do not inline it.

    This is for long code called at several places: inlining would compile it once more for each of them.
    """
    if not JIT:
        return function
    return _standing_for(function, without_literals(inlinable(function, forceinline=False, _nrt=False)))


def _standing_for(function: F, compiled: Any) -> F:
    """Make compiled code call `compiled` where it names the function."""
    _COMPILED.append(compiled)
    infer_global(function, types.Dispatcher(compiled))
    return function


_COMPILED: Final[list[Any]] = []
"""Every compiled step: numba itself keeps no reference to them."""
