# distutils: language = c++
# distutils: extra_compile_args = -O3 -std=c++17
# cython: language_level=3
"""The compiled kernel: documents as flat arrays, and the exact check of one pattern on one.

This file is the thin seam between Python and C++: it checks what comes in, releases the
interpreter lock, and makes errors.  The work is in the headers beside it, each of which explains
itself: ``_expat`` (CPython's own parser), ``_document`` (the arrays), ``_prologue`` (which
documents need no preparation), ``_reader`` (bytes to arrays), ``_program`` (a pattern as arrays),
``_values`` (comparisons), ``_nodeset`` (sets of nodes), ``_evaluate`` (the check).

Safety checks.  Cython's own stay on in this file (bounds, wrap-around, None, initialisation,
integer overflow of conversions): nothing here is in a hot loop.  What C++ does not check:

* ``operator[]`` on vectors, in the headers.  Indices into nodes come from the reader, which sets
  ``parent`` and ``end`` of every node within the array, and both classes here are immutable once
  made; indices into a program are checked once, by ``Program::is_sound``.
* recursion in ``Evaluation::keep``, over the depth of a pattern; the language bounds that at 200.
* arithmetic on 32-bit offsets; the reader refuses a document before any could wrap around.
"""

from cpython.pycapsule cimport PyCapsule_Import
from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string_view cimport string_view

import os

from twigcast.documents import (
    DEFAULT_LIMITS,
    LONG_TAG,
    check_entities,
    event_place,
    has_document_type,
    limit_exceeded,
    malformed,
    missing_entity,
    to_parsable,
)
from twigcast.errors import DocumentError

_KINDS = ("document", "element", "attribute", "text")
_MOST = 0xFFFFFFFF

# A smaller document is checked so quickly that giving up the interpreter lock costs more.
cdef size_t _NODES_WORTH_UNLOCKING = 20_000

cdef const ExpatTable* _expat = <const ExpatTable*> PyCapsule_Import(EXPAT_CAPSULE, 0)
if not is_usable(_expat):
    raise ImportError("this Python's pyexpat offers no expat that the kernel can use")
hash_secret.start = int.from_bytes(os.urandom(8), "little")
hash_secret.factor = int.from_bytes(os.urandom(8), "little") | 1


cdef class CompiledPattern:
    """A pattern ready to be asked of documents; immutable, so threads may share it."""

    def __cinit__(self, source not None):
        cdef NodeTest test
        cdef Instruction instruction
        for kind, namespace, local in source.tests:
            if not 1 <= kind <= 3:
                raise ValueError(f"a node test of the kind {kind}")
            test.kind = <Kind> <uint32_t> kind
            test.any_namespace = namespace is None
            test.any_local = local is None
            test.space = namespace or b""
            test.local = local or b""
            test.name = namespace + b"\1" + local if namespace and local else local or b""
            self.program.tests.push_back(test)
        for step in source.instructions:
            for number, most in ((step.operation, 5), (step.ordinal, 4), (step.comparison, 9)):
                if not 0 <= number <= most:
                    raise ValueError(f"an instruction that is none: {step}")
            instruction.operation = <Operation> <int> step.operation
            instruction.descendant = step.descendant
            instruction.test = step.test
            instruction.ordinal = <Ordinal> <int> step.ordinal
            instruction.position = step.position
            instruction.comparison = <Comparison> <int> step.comparison
            instruction.number = step.operand if isinstance(step.operand, float) else 0.0
            instruction.operand = step.operand if isinstance(step.operand, bytes) else b""
            instruction.children_begin = <uint32_t> self.program.children.size()
            for child in step.children:
                self.program.children.push_back(child)
            instruction.children_end = <uint32_t> self.program.children.size()
            self.program.instructions.push_back(instruction)
        for number in source.alternatives:
            self.program.alternatives.push_back(number)
        if not self.program.is_sound():
            raise ValueError("a program whose numbers lead nowhere")
        self.source = source

    def __reduce__(self):
        return CompiledPattern, (self.source,)


cdef class CompactDocument:
    """A document in memory, read once and asked any number of patterns; immutable."""

    def __cinit__(self, data, limits=DEFAULT_LIMITS):
        cdef bytes parsable
        cdef bool has_type = False
        encoding = None
        if type(data) is bytes and len(data) <= limits.size and is_plain(data, len(data), LONG_TAG):
            parsable = data
        else:
            parsable, encoding = to_parsable(data, limits)
            has_type = has_document_type(parsable)
            if has_type:
                check_entities(parsable, encoding, limits)
        cdef Limits bounds
        bounds.depth = min(limits.depth, _MOST)
        bounds.attributes = min(limits.attributes, _MOST)
        bounds.name_length = min(limits.name_length, _MOST)
        cdef bytes forced = b"" if encoding is None else encoding.encode()
        cdef const char* forced_name = NULL
        if encoding is not None:
            forced_name = forced
        cdef const char* start = parsable
        cdef size_t size = len(parsable)
        cdef Reader* reader = new Reader(_expat, bounds, self.document)
        cdef Failure failure
        with nogil:
            failure = reader.read(start, size, forced_name, has_type)
        del reader
        if failure.trouble != Trouble.none:
            raise _refusal(failure, parsable, encoding, limits)

    def matches(self, CompiledPattern pattern not None):
        """Whether one of the pattern's alternatives is in this document."""
        cdef bool found
        cdef Evaluation* evaluation = new Evaluation(self.document, pattern.program)
        try:
            if self.document.nodes.size() < _NODES_WORTH_UNLOCKING:
                found = evaluation.matches()
            else:
                with nogil:
                    found = evaluation.matches()
        finally:
            del evaluation
        return found

    def __len__(self):
        """The number of nodes, the document node included."""
        return self.document.nodes.size()

    @property
    def byte_size(self):
        """The bytes of memory that the arrays take."""
        return self.document.byte_size()

    def node(self, size_t index):
        """Kind, namespace, local name, parent, end of the subtree, depth and string-value."""
        if index >= self.document.nodes.size():
            raise IndexError(f"the document has {self.document.nodes.size()} nodes")
        cdef Node node = self.document.nodes[index]
        cdef uint32_t kind = kind_number(kind_of(node.label))
        namespace, local = "", ""
        if kind == 1 or kind == 2:
            namespace = _text(self.document.names.namespace_of(name_of(node.label)))
            local = _text(self.document.names.local_of(name_of(node.label)))
        parent = None if index == 0 else node.parent
        value = _text(self.document.value_of(<uint32_t> index))
        return _KINDS[kind], namespace, local, parent, node.end, node.depth, value


cdef str _text(string_view view):
    return view.data()[: view.size()].decode("utf-8") if view.size() else ""


cdef object _refusal(Failure failure, bytes parsable, encoding, limits):
    """The error for what the reader met, in the words of ``twigcast.documents``."""
    if failure.trouble == Trouble.memory:
        return MemoryError("no memory for the document")
    line, offset = failure.line, failure.column
    if failure.trouble == Trouble.malformed:
        return malformed(failure.code, line, offset, parsable, encoding)
    if failure.trouble == Trouble.entity:
        return missing_entity(line, offset, parsable)
    at = event_place(line, offset, parsable)
    if failure.trouble == Trouble.depth:
        return limit_exceeded(limits, "depth", *at)
    if failure.trouble == Trouble.attributes:
        return limit_exceeded(limits, "attributes", *at)
    if failure.trouble == Trouble.name_length:
        return limit_exceeded(limits, "name_length", *at)
    return DocumentError("the document holds more nodes or text than 32 bits can number", *at)
