"""A numba compiler for functions that are only ever inlined: it stops at LLVM's intermediate code.

numba optimises every function, makes machine code of it, and does both again wherever the function is inlined. For a
function that is never called from outside, the first time is wasted: without it the policies compile in three quarters of
the time.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class InlinedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to link into callers, which are optimised together with it."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """numba's cache asks for it: there is no object code."""
        return self.serialize_using_bitcode()


@register_pass(mutates_CFG=True, analysis_only=False)
class InlinedLowering(NativeLowering):  # type: ignore[misc]
    """numba's lowering pass without its last step, which makes machine code."""

    _name = "inlined_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function of the compiler's `state`; the result only stands for it where other functions call it."""
        state.library = InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made = state["cr"]
        stand_in = _dynfunc.make_function(
            made.fndesc.lookup_module(), made.fndesc.qualname, "", 0, made.env, (state.library,)
        )
        state.targetctx.insert_user_function(stand_in, made.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = made._replace(cfunc=stand_in)
        return True


class InlinedCompiler(CompilerBase):  # type: ignore[misc]
    """The ``pipeline_class`` of numba for functions that are only inlined."""

    def define_pipelines(self) -> list[Any]:
        """numba's own pipeline with `InlinedLowering` in place of `NativeLowering`."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (InlinedLowering if one is NativeLowering else one, description) for one, description in passes.passes
        ]
        passes.finalize()
        return [passes]
