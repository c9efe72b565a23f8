"""The functions of one layer on a cluster, as C. All that is decided about it stands in the schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tilewright.codegen.dma import Shaped, commands, copy, dma_command
from tilewright.codegen.functions import APART, function, tile_function
from tilewright.codegen.initialiser import initialiser
from tilewright.codegen.kernels import Instance
from tilewright.codegen.layer_title import layer_title
from tilewright.codegen.slots import array_name, first_address, guarded, slot_address
from tilewright.codegen.staged_tiles import Passage, arena_address
from tilewright.errors import present
from tilewright.ir.graph import Graph
from tilewright.planner.cluster.tile_params import Variants
from tilewright.planner.home import ARENA, CONSTANT, INPUT, Home
from tilewright.planner.schedule.layer_schedule import (
    DMA_IN_ROWS,
    Argument,
    LayerSchedule,
    Move,
    Staged,
    TileParams,
)
from tilewright.records import dataclass
from tilewright.target.memory import Paths
from tilewright.target.target import Target


@dataclass(frozen=True)
class LayerWriter:
    layer: LayerSchedule
    target: Target
    graph: Graph
    instance: Instance
    identifiers: Mapping[str, str]
    """Tensors -> what they are called in C."""

    @property
    def _prefix(self) -> str:
        return f"layer_{self.layer.number}"

    @property
    def memories(self) -> Paths:
        return self.target.paths

    @property
    def _tile_array(self) -> str:
        """The array that tiles lie in."""
        return array_name(self.memories, self.memories.tiles)

    @property
    def _tile_params(self) -> TileParams:
        return present(self.layer.tile_params, f"layer {self.layer.number}", "calls a kernel without parameters")

    @property
    def _variants(self) -> Variants:
        return self._tile_params.variants

    # ---- the functions ----------------------------------------------------------------------------------------------

    def text(self) -> str:
        if self.layer.is_copied:
            return "\n".join(filter(None, [self._title(), self._stage(), self._copy()]))
        passages = [self._passage(m).functions() for m in (*self.layer.loads, *self.layer.stores) if m.staging]
        parts = [
            self._title(), self._params(), self._stage(), self._prefetch(), *passages,
            self._load(), self._renew(), self._run(), self._store(),
        ]  # fmt: skip
        return "\n".join(part for part in parts if part)

    def _title(self) -> str:
        option = self.layer.option
        cuts = ", ".join(f"{cut.loop} by {cut.size} of {cut.extent}" for cut in option.grid.cuts)
        cut = f"; {option.grid.tiles} tiles: {cuts}" if cuts else ""
        return f"\n{layer_title(self.graph, self.layer.number, option.node, cut)}"

    def _params(self) -> str:
        tables, texts, found = "", [], self._variants
        for position, params in enumerate(found.params):
            arrays, text = initialiser(params, f"{self._prefix}_{position}_")
            tables += arrays.replace("\n    ", "\n")
            texts.append(f"{{{text}}}")
        dimensions = "".join(f"[{len(s.representatives)}]" for s in found.selectors)
        values = _nested(texts, [len(s.representatives) for s in found.selectors])
        table = f"static const {self.layer.option.kernel.params_type} {self._prefix}_params{dimensions} = {values};"
        line = self._asserted() + table
        return f"{tables.lstrip()}\n{line}" if tables else line

    def _asserted(self) -> str:
        """The planner counted so many bytes for the DMA to move: the compiler is to agree."""
        return f"TW_ASSERT_SIZE({self.layer.option.kernel.params_type}, {self._tile_params.struct_bytes});\n"

    def _stage(self) -> str:
        """Constants from behind the home come there before anything else."""
        lines = [f"  {line}" for staged in self.layer.staged for line in self._hops(staged)]
        return function(f"{self._prefix}_stage", "void", lines, APART) if lines else ""

    def _hops(self, staged: Staged) -> Iterator[str]:
        """From memory to memory: before it goes on, it has come."""
        memory = staged.memory
        address = f"TW_{memory.upper()}_ADDRESS({self.identifiers[staged.constant]})"
        for following, offset in staged.passes:
            to = arena_address(following, offset)
            yield f"tw_{memory.lower()}_stage((void *)({to}), {address}, {staged.bytes});"
            yield f"tw_{memory.lower()}_stage_wait();"
            memory, address = following, to
        yield f"tw_{memory.lower()}_stage({self.memories.home.symbol} + {staged.offset}, {address}, {staged.bytes});"

    def _copy(self) -> str:
        """A copy that is nothing but a transfer."""
        by_name = {argument.operand.name: argument for argument in self.layer.arguments}
        source, target = (self._base(by_name[name].home) for name in ("X", "Y"))
        command = present(self.layer.prefetch, f"layer {self.layer.number}", "is not copied").copies
        if command == DMA_IN_ROWS:
            moved = commands(self._window(by_name["X"]), target, source, dma_command(command), {})
        else:
            moved = copy(self._window(by_name["Y"]), source, target, command)
        return function(f"{self._prefix}_prefetch", "void", [f"  tw_prefetch_begin({self.layer.number});", *moved])

    def _window(self, argument: Argument) -> Shaped:
        window = present(argument.window, f"operand {argument.operand.name}", "has no window where it lies")
        return Shaped(self.layer.option.grid, window)

    def _prefetch(self) -> str:
        prefetch = self.layer.prefetch
        if prefetch is None:
            return ""
        lines = [f"  tw_prefetch_begin({self.layer.number});"]
        if self.layer.params is not None:
            table = f"{self._prefix}_params"
            source = f"{'' if self._variants.selectors else '&'}{table}"
            target = first_address(self._tile_array, self.layer.params)
            lines.append(f"  tw_dma_in({target}, {source}, sizeof {table});")
        first = dict.fromkeys((cut.loop for cut in self.layer.option.grid.cuts), 0)
        for one in prefetch.moves:
            buffer = first_address(self._tile_array, one.buffer)
            lines += self._transfer(one, buffer, first)
        return function(f"{self._prefix}_prefetch", "void", lines)

    def _load(self) -> str:
        lines: list[str] = []
        for one in self.layer.tile_loads:
            lines += self._passage(one).load() if one.staging else guarded(one.when, self._tile_transfer(one))
        return tile_function(f"{self._prefix}_load", self.layer.option.grid, lines) if lines else ""

    def _renew(self) -> str:
        lines = [line for one in self.layer.renewals for line in guarded(one.when, self._tile_transfer(one))]
        return tile_function(f"{self._prefix}_renew", self.layer.option.grid, lines) if lines else ""

    def _store(self) -> str:
        lines: list[str] = []
        for one in self.layer.stores:
            lines += self._passage(one).store() if one.staging else guarded(one.when, self._tile_transfer(one))
        return tile_function(f"{self._prefix}_store", self.layer.option.grid, lines) if lines else ""

    def _tile_transfer(self, one: Move) -> list[str]:
        return self._transfer(one, slot_address(self._tile_array, one.buffer), {})

    def _transfer(self, one: Move, buffer: str, fixed: dict[str, int]) -> list[str]:
        """The commands that move a tile's window; `fixed` are loop indices that are known."""
        window = Shaped(self.layer.option.grid, one.shape, self._told)
        return commands(window, buffer, self._base(one.home), dma_command(one.command), fixed)

    def _told(self, operand: str) -> str:
        """The only element of an operand, read where it lives."""
        home = next(one.home for one in self.layer.arguments if one.operand.name == operand)
        base = self._base(home)
        return f"*(const int32_t *)({base})" if "+" in base else f"*(const int32_t *){base}"

    def _passage(self, one: Move) -> Passage:
        buffer = slot_address(self._tile_array, one.buffer)
        return Passage(self.layer, one, buffer, self.memories.home.symbol)

    def _run(self) -> str:
        arguments = [self._params_argument(), *self._arguments()]
        grid, found = self.layer.option.grid, self.instance.functions.items()
        return "\n".join(tile_function(f"{self._prefix}_{name}", grid, [_call(f, arguments)]) for name, f in found)

    # ---- arguments --------------------------------------------------------------------------------------------------

    def _params_argument(self) -> str:
        selectors = self._variants.selectors
        selected = "".join(f"[{selector.text}]" for selector in selectors)
        if self.layer.params is None:
            return f"&{self._prefix}_params{selected}"
        inner = "".join(f"[{len(s.representatives)}]" for s in selectors[1:])
        c_type = self.layer.option.kernel.params_type
        pointer = f"(const {c_type}(*){inner})" if inner else f"(const {c_type} *)"
        copied = f"{pointer}({first_address(self._tile_array, self.layer.params)})"
        return f"&({copied}){selected}" if selectors else copied

    def _arguments(self) -> list[str]:
        by_name = {argument.operand.name: argument for argument in self.layer.arguments}
        arguments = []
        for wanted in self.layer.option.kernel.arguments():
            c_type = f"{'' if wanted.is_result else 'const '}{self.instance.c_type(wanted)}"
            if wanted.variadic:
                names = [name for name in by_name if name.startswith(wanted.stem)]
                pointers = ", ".join(self._pointer(by_name[name], c_type) for name in names)
                arguments.append(f"({c_type} *const[]){{{pointers}}}")
            else:
                found = by_name.get(wanted.stem)
                arguments.append(self._pointer(found, c_type) if found else "NULL")
        if self.instance.takes_scratch:
            arguments.append(self._scratch())
        return arguments

    def _pointer(self, argument: Argument, c_type: str) -> str:
        """The first element of what a kernel reads or writes in a tile."""
        if argument.buffer is not None:
            return f"({c_type} *)({slot_address(self._tile_array, argument.buffer)})"
        address = self._window(argument).address(self._base(argument.home), {})
        alone = address.rpartition("*)")[2]
        return f"({c_type} *){alone}" if alone.isidentifier() else f"({c_type} *)({address})"

    def _scratch(self) -> str:
        scratch = self.layer.scratch
        return "NULL" if scratch is None else slot_address(self._symbol(scratch.memory), scratch)

    def _base(self, home: Home) -> str:
        """The address of a tensor's home."""
        if home.kind == ARENA:
            symbol = self._symbol(home.memory)
            return f"{symbol} + {home.offset}" if home.offset else symbol
        if home.kind == CONSTANT:
            return f"(const uint8_t *){self.identifiers[home.owner]}"
        return f"({'const ' if home.kind == INPUT else ''}uint8_t *){io_pointer(self.identifiers[home.owner])}"

    def _symbol(self, memory: str) -> str:
        return next(array_name(self.memories, one) for one in self.memories.memories if one.name == memory)


def io_pointer(identifier: str) -> str:
    """The pointer through which layers reach an input or output."""
    return f"io_{identifier}"


def _call(name: str, arguments: Sequence[str]) -> str:
    line = f"  {name}({', '.join(arguments)});"
    return line if len(line) <= 116 else f"  {name}(\n      " + ",\n      ".join(arguments) + ");"


def _nested(texts: Sequence[str], sizes: Sequence[int]) -> str:
    """A flat list as the initialiser of an array with these dimensions."""
    if not sizes:
        return texts[0]
    inner = prod(sizes[1:])
    parts = [_nested(texts[i * inner : (i + 1) * inner], sizes[1:]) for i in range(sizes[0])]
    return "{" + ", ".join(parts) + "}"
