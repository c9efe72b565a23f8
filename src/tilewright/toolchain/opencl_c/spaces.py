"""Which memory every pointer of a kernel points into, found from its entry on down.

OpenCL C before version 2 has no pointer that may point anywhere. A function that is called with pointers into different
memories becomes as many functions. What stands at file scope and is no constant is not there in OpenCL C either:
arrays that a group shares belong to its entry, and others to the caller, so functions that use them take a pointer."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.errors import InternalError
from tilewright.toolchain.opencl_c.tree import (
    Node,
    Tree,
    begin,
    body_of,
    end,
    is_local,
    is_pointer,
    parameters,
    type_name,
)  # fmt: skip

PRIVATE, GLOBAL, LOCAL, CONSTANT = "", "__global ", "__local ", "__constant "
Space = str | None
"""One of these; None of a pointer to nothing."""
ENTRY = "tw_kernel"
SHARED, KEPT = "tw_shared", "tw_kept"
"""What a group shares, and what is there from launch to launch."""
HOISTED = {LOCAL: SHARED, GLOBAL: KEPT}


@dataclass
class Instance:
    """A function for pointers into certain memories."""

    function: Node
    spaces: tuple[Space, ...]
    """Of its parameters; None of those that are no pointers, too."""
    name: str
    result: Space = None
    edits: list[tuple[int, str]] = field(default_factory=list)
    """Where something is inserted, and what."""
    renamed: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Where a name begins -> where it ends, and the one that replaces it."""
    hidden: set[str] = field(default_factory=set)
    """What it takes besides: of SHARED and KEPT."""
    slots: dict[str, Space] = field(default_factory=dict)
    """Its variables that are pointers."""
    declared: list[Node] = field(default_factory=list)


class Spaces:
    """`instances` are in an order in which what is called stands before its callers; the entry is the last."""

    def __init__(self, tree: Tree, kernel: str) -> None:
        self.tree, self.kernel = tree, kernel
        self.instances: list[Instance] = []
        self.fields: dict[str, Space] = {}
        self.used: dict[str, Space] = {}
        """Variables of the file, by their numbers."""
        self._made: dict[tuple[str, tuple[Space, ...]], Instance] = {}
        entry = tree.functions[ENTRY]
        self._instance(ENTRY, tuple(GLOBAL if is_pointer(one) else None for one in parameters(entry)))

    # ---- functions ------------------------------------------------------------------------------------------------

    def _instance(self, name: str, spaces: tuple[Space, ...]) -> Instance:
        if (name, spaces) not in self._made:
            function = self.tree.functions[name]
            others = sum(known == name for known, _ in self._made)
            made = Instance(function, spaces, f"{name}_{others + 1}" if others else name)
            self._made[name, spaces] = made
            for parameter, space in zip(parameters(function), spaces, strict=True):
                if is_pointer(parameter):
                    made.slots[parameter["id"]] = LOCAL if is_local(parameter) else space
                    made.declared.append(parameter)
            self._walk(made, body_of(function) or {})
            self._write_spaces(made)
            self.instances.append(made)
        return self._made[name, spaces]

    def _write_spaces(self, at: Instance) -> None:
        """What stands before declarations of pointers: several of one declaration have one beginning."""
        found: dict[int, Space] = {}
        for one in at.declared:
            space = at.slots[one["id"]]
            if found.setdefault(begin(one), space) != space:
                raise self._error(one, "declares pointers into different memories at once")
        at.edits += [(place, space) for place, space in found.items() if space and not self._says_local(place)]
        if at.result and "*" in at.function["type"]["qualType"].split("(")[0]:
            at.edits.append((begin(at.function), at.result))
        if at.name != at.function["name"]:
            first = at.function["loc"]["offset"]
            at.renamed[first] = (first + at.function["loc"]["tokLen"], at.name)

    def _says_local(self, place: int) -> bool:
        return "address_space(3)" in self.tree.text[place : place + 60].split("*")[0]

    # ---- statements -----------------------------------------------------------------------------------------------

    def _walk(self, at: Instance, node: Node) -> None:
        for child in node.get("inner", ()):
            self._walk(at, child)
        kind = node.get("kind")
        if kind == "VarDecl" and is_pointer(node):
            self._declare(at, node)
        elif kind == "BinaryOperator" and node["opcode"] == "=" and is_pointer(node):
            self._assign(at, node["inner"][0], self.pointee(at, node["inner"][1]))
        elif kind == "InitListExpr":
            self._fill(at, node)
        elif kind == "CallExpr":
            self._call(at, node)
        elif kind == "ReturnStmt" and node.get("inner") and is_pointer(node["inner"][0]):
            at.result = self._joined(node, at.result, self.pointee(at, node["inner"][0]))
        elif kind == "CStyleCastExpr" and is_pointer(node) and not is_local(node):
            at.edits.append((begin(node) + 1, self.pointee(at, node) or ""))
        elif kind == "DeclRefExpr":
            self._refer(at, node)

    def _declare(self, at: Instance, node: Node) -> None:
        values = [child for child in node.get("inner", ()) if child["kind"] != "FullComment"]
        at.declared.append(node)
        at.slots[node["id"]] = LOCAL if is_local(node) else None
        if values and is_pointer(values[0]):
            at.slots[node["id"]] = self.pointee(at, values[0])

    def _assign(self, at: Instance, place: Node, space: Space) -> None:
        slots, name = self._slot(at, place)
        slots[name] = self._joined(place, slots.get(name), space)

    def _fill(self, at: Instance, node: Node) -> None:
        fields = self.tree.fields.get(type_name(node).removeprefix("const "), [])
        for one, value in zip(fields, node.get("inner", ()), strict=False):
            if is_pointer(one):
                self.fields[one["id"]] = self._joined(value, self.fields.get(one["id"]), self.pointee(at, value))

    def _call(self, at: Instance, node: Node) -> None:
        called, *given = node["inner"]
        name = _name_of(called)
        if name not in self.tree.functions:
            return
        wanted = parameters(self.tree.functions[name])
        spaces = tuple(
            (self.pointee(at, value) if is_pointer(one) and not is_local(one) else None)
            for one, value in zip(wanted, given, strict=True)
        )
        callee = self._instance(name, spaces)
        if callee.name != name:
            at.renamed[begin(called)] = (end(called), callee.name)
        if callee.hidden:
            at.hidden |= callee.hidden
            more = ", ".join(sorted(callee.hidden))
            # Before what is inserted where the first argument begins.
            at.edits.insert(0, (self.tree.text.index("(", end(called)) + 1, f"{more}, " if given else more))

    def _refer(self, at: Instance, node: Node) -> None:
        number = node["referencedDecl"]["id"]
        if number in self.tree.variables:
            space = self._space_of_variable(self.tree.variables[number])
            self.used[number] = space
            if space in HOISTED:
                at.hidden.add(HOISTED[space])
                at.edits.append((begin(node), f"{HOISTED[space]}->"))

    # ---- expressions ----------------------------------------------------------------------------------------------

    def pointee(self, at: Instance, node: Node) -> Space:
        """The memory that a pointer points into."""
        if is_local(node):
            return LOCAL
        kind, inner = node["kind"], node.get("inner", [])
        if node.get("castKind") == "ArrayToPointerDecay":
            return self.place(at, inner[0])
        if node.get("castKind") == "LValueToRValue":
            slots, name = self._slot(at, inner[0])
            return slots.get(name)
        if node.get("castKind") in ("NullToPointer", "IntegralToPointer"):
            return None
        if kind == "UnaryOperator" and node["opcode"] == "&":
            return self.place(at, inner[0])
        if kind == "UnaryOperator" or (kind == "CompoundAssignOperator"):
            slots, name = self._slot(at, inner[0])
            return slots.get(name)
        if kind == "ConditionalOperator":
            return self._joined(node, self.pointee(at, inner[1]), self.pointee(at, inner[2]))
        if kind == "BinaryOperator":
            side = inner[1] if node["opcode"] in ("=", ",") or not is_pointer(inner[0]) else inner[0]
            return self.pointee(at, side)
        if kind == "CallExpr":
            return self._result(at, node)
        if kind in ("ParenExpr", "CStyleCastExpr", "ImplicitCastExpr", "ConstantExpr"):
            return self.pointee(at, inner[0])
        raise self._error(node, f"is a pointer in a form that is not known ({kind})")

    def _result(self, at: Instance, node: Node) -> Space:
        called, *given = node["inner"]
        wanted = parameters(self.tree.functions[_name_of(called)])
        spaces = tuple(
            (self.pointee(at, value) if is_pointer(one) and not is_local(one) else None)
            for one, value in zip(wanted, given, strict=True)
        )
        return self._instance(_name_of(called), spaces).result

    def place(self, at: Instance, node: Node) -> Space:
        """The memory that something lies in."""
        kind, inner = node["kind"], node.get("inner", [])
        if kind == "DeclRefExpr":
            number = node["referencedDecl"]["id"]
            return self._space_of_variable(self.tree.variables[number]) if number in self.tree.variables else PRIVATE
        if kind == "MemberExpr":
            return self.pointee(at, inner[0]) if node["isArrow"] else self.place(at, inner[0])
        if kind == "ArraySubscriptExpr":
            return self.pointee(at, inner[0] if is_pointer(inner[0]) else inner[1])
        if kind == "UnaryOperator" and node["opcode"] == "*":
            return self.pointee(at, inner[0])
        if kind in ("ParenExpr", "ImplicitCastExpr"):
            return self.place(at, inner[0])
        return PRIVATE

    def _slot(self, at: Instance, node: Node) -> tuple[dict[str, Space], str]:
        """Where it is noted what a pointer that can be assigned points into."""
        kind, inner = node["kind"], node.get("inner", [])
        if kind == "DeclRefExpr":
            return at.slots, node["referencedDecl"]["id"]
        if kind == "MemberExpr":
            return self.fields, node["referencedMemberDecl"]
        if kind in ("ParenExpr", "ImplicitCastExpr", "ArraySubscriptExpr"):
            return self._slot(at, inner[0])
        raise self._error(node, f"is a pointer in a form that is not known ({kind})")

    def _space_of_variable(self, node: Node) -> str:
        if is_local(node):
            return LOCAL
        return CONSTANT if "const " in node["type"]["qualType"] else GLOBAL

    def _joined(self, node: Node, left: Space, right: Space) -> Space:
        if left is not None and right is not None and left != right:
            raise self._error(node, "is one pointer into two memories")
        return right if left is None else left

    def _error(self, node: Node, what: str) -> InternalError:
        return InternalError(f"kernel {self.kernel}", f"`{self.tree.line(node)}` {what}")


def _name_of(called: Node) -> str:
    while called["kind"] != "DeclRefExpr":
        called = called["inner"][0]
    return str(called["referencedDecl"]["name"])
