"""How numba compiles what is only ever merged into other code: to LLVM's intermediate code, and no further.

numba optimises every function by itself, makes machine code of it, and does both again wherever it is merged. For a function
that nobody calls from outside the first time is in vain: without it the policies compile in three quarters of the time.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class MergedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code to link into that of others, which are optimised with it."""

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
class MergedLowering(NativeLowering):  # type: ignore[misc]
    """numba's pass without its last step, to make something that can be run."""

    _name = "merged_lowering"

    def run_pass(self, state: Any) -> bool:
        """What it makes only stands for the function where others call it."""
        state.library = MergedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
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


class MergedCompiler(CompilerBase):  # type: ignore[misc]
    """The ``pipeline_class`` of numba for such functions."""

    def define_pipelines(self) -> list[Any]:
        """numba's own, with the pass above in place of the one it is made of."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (MergedLowering if one is NativeLowering else one, description) for one, description in passes.passes
        ]
        passes.finalize()
        return [passes]
