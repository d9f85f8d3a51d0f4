# distutils: language = c++
# cython: language_level=3
"""The compiled kernel: documents as flat arrays, one pattern asked of one, and many of many.

This file is the thin seam between Python and C++: it checks what comes in, releases the
interpreter lock, and makes errors.  The work is in ``src/kernel``, whose README is a tour.

Safety checks.  Cython's own stay on in this file (bounds, wrap-around, None, initialisation,
integer overflow of conversions): nothing here is in a hot loop.  What C++ does not check:

* ``operator[]`` on vectors, in the headers.  Indices into nodes come from the reader, which sets
  ``parent`` and ``end`` of every node within the array; documents and programs are immutable once
  made, and indices into a program are checked once, by ``Program::settle``.
* ``operator[]`` on the arrays of an index.  Indices come from the index itself, which only ever
  grows, and those of a file are checked once, by ``Index::settle``.  Those that a document matcher
  keeps are of the same index: another index has another generation, which makes it forget.
* recursion in ``TreeText``, whose depth is bounded.
* recursion in ``Evaluation::keep`` and ``Interpreter::evaluate``, over the depth of a pattern and
  of an expression; ``Program::settle`` bounds both.
* arithmetic on 32-bit offsets; the reader refuses a document before any could wrap around, and
  what a document matcher remembers is bounded at 4 GiB.
* what points into Python's bytes and Arrow's buffers while the lock is released: ``Documents``
  holds their owners, and ``Answers`` the engine and the mapped file.
"""

from cpython.pycapsule cimport PyCapsule_Import
from cpython.buffer cimport PyBUF_WRITABLE
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.utility cimport move
from libcpp.vector cimport vector

import os
import time

from twigcast.documents import (
    DEFAULT_LIMITS,
    LONG_TAG,
    DocumentLimits,
    check_entities,
    event_position,
    has_document_type,
    limit_exceeded,
    malformed,
    missing_entity,
    to_parsable,
)
from twigcast.errors import DocumentError, EvaluationBudgetError

_KINDS = (
    "document", "element", "attribute", "text", "comment", "instruction", "namespace", "node"
)
_MOST = 0xFFFFFFFF
_NOWHERE = 0xFFFFFFFF
_UPDATES = ("done", "duplicate key", "unknown key", "unknown pattern", "bad plan")
FREE_KEY = <int> KeyRule.free
ANY_KEY = <int> KeyRule.any
TAKEN_KEY = <int> KeyRule.taken
DESTINATION_COUNT = <int> MOST_DESTINATIONS
NO_DESTINATION = _NOWHERE
_FILE_TROUBLES = (
    "",
    "this is no file of a matcher",
    "another version of Twigcast wrote it; save it again with this one",
    "it was written on another kind of machine; save it again on this one",
    "it is cut off",
    "it is damaged",
)
cdef uint64_t _NOTHING = 0
cdef size_t _BYTES_AT_ONCE = 8 << 20
cdef uint32_t _PATHS_AT_ONCE = 64

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
        cdef Expression expression
        for kind, namespace, local in source.tests:
            if not 0 <= kind < len(_KINDS):
                raise ValueError(f"a node test of the kind {kind}")
            test.kind = <Kind> <uint32_t> kind
            test.any_namespace = namespace is None
            test.any_local = local is None
            test.space = namespace or b""
            test.local = local or b""
            test.name = namespace + b"\1" + local if namespace and local else local or b""
            self.program.tests.push_back(test)
        for step in source.instructions:
            if not (
                0 <= step.operation < OPERATION_COUNT and 0 <= step.comparison < COMPARISON_COUNT
            ):
                raise ValueError(f"an instruction that is none: {step}")
            instruction.operation = <Operation> <int> step.operation
            instruction.descendant = step.descendant
            instruction.test = step.test
            instruction.position = step.position
            instruction.comparison = <Comparison> <uint8_t> step.comparison
            instruction.number = step.operand if isinstance(step.operand, float) else 0.0
            instruction.operand = step.operand if isinstance(step.operand, bytes) else b""
            instruction.expression = step.expression
            instruction.is_version_2 = step.is_version_2
            instruction.children_begin = <uint32_t> self.program.children.size()
            for child in step.children:
                self.program.children.push_back(child)
            instruction.children_end = <uint32_t> self.program.children.size()
            self.program.instructions.push_back(instruction)
        for number in source.alternatives:
            self.program.alternatives.push_back(number)
        for part in source.expressions:
            if not (0 <= part.form < FORM_COUNT and 0 <= part.occurrence < 4):
                raise ValueError(f"an expression that is none: {part}")
            expression.form = <Form> <uint8_t> part.form
            expression.code = part.code
            expression.occurrence = <Occurrence> <uint8_t> part.occurrence
            expression.test = part.test
            expression.number = part.number
            expression.text = part.text
            expression.children_begin = <uint32_t> self.program.expressions.children.size()
            for child in part.children:
                self.program.expressions.children.push_back(child)
            expression.children_end = <uint32_t> self.program.expressions.children.size()
            self.program.expressions.all.push_back(expression)
        if not self.program.settle():
            raise ValueError("a program whose numbers lead nowhere")
        self.source = source

    @property
    def code(self):
        """The program as bytes, as an index keeps it."""
        return ProgramWriter.write(self.program)

    def __reduce__(self):
        return CompiledPattern, (self.source,)


cdef class CompactDocument:
    """A document in memory, read once and asked any number of patterns; immutable."""

    def __cinit__(self, data, limits=DEFAULT_LIMITS, reader="checked"):
        cdef Documents documents = Documents(limits, reader)
        documents.add(data)
        if documents.errors:
            raise documents.errors[0]
        cdef Limits bounds = _bounds(limits)
        cdef Failure failure
        cdef DocumentBuilder* builder = new DocumentBuilder(self.document)
        cdef ReaderMemory* memory = new ReaderMemory(_expat)
        cdef DocumentReader* document_reader = new DocumentReader(bounds, builder[0], memory[0])
        with nogil:
            failure = document_reader.read(documents.inputs[0])
        del document_reader
        del memory
        del builder
        if failure.trouble != Trouble.none:
            raise documents.refusal(0, failure)
        self.documents = documents

    cdef int find_qualifiers(self) except -1:
        """Find what few programs need beside the document; with the lock, so only once."""
        cdef Limits bounds = _bounds(self.documents.limits)
        cdef ReaderMemory* memory = new ReaderMemory(_expat)
        cdef Failure failure
        try:
            failure = find_qualifiers(
                bounds, self.documents.inputs[0], self.document, memory[0]
            )
        finally:
            del memory
        if failure.trouble != Trouble.none:
            raise self.documents.refusal(0, failure)
        return 0

    def matches(self, CompiledPattern pattern not None):
        """Whether one of the pattern's alternatives is in this document.

        Raises :class:`~twigcast.errors.EvaluationBudgetError` where that takes too much work.
        """
        return self.decide(pattern)[0]

    def decide(self, CompiledPattern pattern not None):
        """The same, and why an expression has no value if that is why it does not match."""
        cdef Verdict verdict
        cdef bytes reason = b""
        if pattern.program.expressions.asks_for_qualifiers:
            if not self.document.qualifiers.is_known:
                self.find_qualifiers()
        cdef bint has_expressions = not pattern.program.expressions.all.empty()
        cdef int64_t now = time.time_ns() if has_expressions else 0
        cdef LoneEvaluation* evaluation = new LoneEvaluation(self.document, pattern.program, now)
        try:
            if self.document.nodes.size() < _NODES_WORTH_UNLOCKING and not has_expressions:
                verdict = evaluation.matches()
            else:
                with nogil:
                    verdict = evaluation.matches()
            if evaluation.reason() != NULL:
                reason = evaluation.reason()
        finally:
            del evaluation
        if verdict == Verdict.undecided:
            raise EvaluationBudgetError()
        return verdict == Verdict.yes, reason.decode()

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
        if kind == 1 or kind == 2 or kind == 5:
            namespace = _text(self.document.names.namespace_of(name_of(node.label)))
            local = _text(self.document.names.local_of(name_of(node.label)))
        parent = None if index == 0 else node.parent
        value = _text(self.document.value_of(<uint32_t> index))
        return _KINDS[kind], namespace, local, parent, node.end, node.depth, value


cdef str _text(string_view view):
    return view.data()[: view.size()].decode("utf-8") if view.size() else ""


cdef Limits _bounds(limits):
    cdef Limits bounds
    bounds.depth = min(limits.depth, _MOST)
    bounds.attributes = min(limits.attributes, _MOST)
    bounds.name_length = min(limits.name_length, _MOST)
    return bounds


cdef class Documents:
    """Documents ready to be read; one that cannot be prepared has its error in ``errors``.

    ``reader`` is "checked", which leaves to expat what it is not sure of, or "expat" alone.
    """

    def __cinit__(self, limits not None, reader="checked"):
        if reader not in ("checked", "expat"):
            raise ValueError(f"the reader is 'checked' or 'expat', not {reader!r}")
        if not isinstance(limits, DocumentLimits):
            raise TypeError(f"limits are DocumentLimits, not {limits!r}")
        self.only_expat = reader == "expat"
        self.kept = []
        self.encodings = {}
        self.errors = {}
        self.limits = limits
        self.largest = min(limits.size, _MOST)
        self.now = time.time_ns()

    def add(self, data):
        """Add one document, bytes or text."""
        if type(data) is bytes:
            self.add_bytes(data, len(data), data)
        else:
            self.prepare(data)

    def add_all(self, documents):
        """Add any number of them."""
        for number, data in enumerate(documents):
            if data is None:
                self.refuse(DocumentError("there is no document here"))
                continue
            try:
                self.add(data)
            except TypeError as error:
                raise TypeError(f"{error} (document {number} of the batch)") from None

    def add_arrow(
        self, offsets, data, bool wide, bool is_text, size_t first, size_t count, is_valid
    ):
        """Add the elements of an Arrow array of binaries or strings, where they lie.

        ``offsets`` and ``data`` are its buffers, ``first`` its own offset into them, and
        ``is_valid`` says for each whether it is not null, or is None.  Text is UTF-8, whatever
        encoding it declares.
        """
        cdef const unsigned char[::1] offset_bytes = memoryview(offsets).cast("B")
        cdef const unsigned char[::1] bytes_view
        cdef const char* start = b""
        cdef size_t size = 0
        cdef int64_t begin, end
        cdef size_t at
        if data is not None and len(data):
            bytes_view = memoryview(data).cast("B")
            start = <const char*> &bytes_view[0]
            size = bytes_view.shape[0]
        if <size_t> offset_bytes.shape[0] < (first + count + 1) * (8 if wide else 4):
            raise ValueError("the array's offsets are too short")
        self.kept.append((offsets, data))
        for at in range(first, first + count):
            if is_valid is not None and not is_valid[at - first]:
                self.refuse(DocumentError("there is no document here"))
                continue
            if wide:
                begin = (<const int64_t*> &offset_bytes[0])[at]
                end = (<const int64_t*> &offset_bytes[0])[at + 1]
            else:
                begin = (<const int32_t*> &offset_bytes[0])[at]
                end = (<const int32_t*> &offset_bytes[0])[at + 1]
            if begin < 0 or end < begin or <size_t> end > size:
                raise ValueError("the array's offsets lead outside its data")
            if is_text and prologue_of(start + begin, end - begin, LONG_TAG, True) == Prologue.other:
                try:
                    text = start[begin:end].decode("utf-8", "surrogatepass")
                except UnicodeDecodeError as error:
                    self.refuse(DocumentError(f"the bytes are not valid utf-8: {error.reason}"))
                else:
                    self.prepare(text)
            else:
                self.add_bytes(start + begin, end - begin, None)

    cdef int add_bytes(self, const char* data, size_t size, owner) except -1:
        cdef Input input
        cdef Prologue prologue = prologue_of(data, size, LONG_TAG, False)
        if size > self.largest or prologue == Prologue.other:
            return self.prepare(data[:size] if owner is None else owner)
        if owner is not None:
            self.kept.append(owner)
        input.data = data
        input.size = size
        input.encoding = NULL
        input.has_type = prologue == Prologue.typed
        input.only_expat = self.only_expat
        input.now = self.now
        self.inputs.push_back(input)
        return 0

    cdef int prepare(self, data) except -1:
        """Detect the encoding, and check entities and long tags."""
        cdef Input input
        cdef bytes parsable, name, ids = b""
        try:
            parsable, encoding = to_parsable(data, self.limits)
            input.only_expat = self.only_expat
            input.has_type = has_document_type(parsable)
            if input.has_type:
                for element, attribute in check_entities(parsable, encoding, self.limits):
                    ids += element.encode() + b"\0" + attribute.encode() + b"\0"
        except DocumentError as error:
            self.refuse(error)
            return 0
        input.data = parsable
        input.size = len(parsable)
        input.encoding = NULL
        input.now = self.now
        if ids:
            self.kept.append(ids)
            input.ids = string_view(<const char*> ids, len(ids))
        self.kept.append(parsable)
        if encoding is not None:
            name = encoding.encode()
            self.kept.append(name)
            self.encodings[self.inputs.size()] = encoding
            input.encoding = name
        self.inputs.push_back(input)
        return 0

    def refuse(self, error):
        cdef Input nothing
        nothing.data = NULL
        nothing.size = 0
        nothing.encoding = NULL
        nothing.has_type = nothing.only_expat = False
        nothing.now = 0
        self.errors[self.inputs.size()] = error
        self.inputs.push_back(nothing)

    cdef object refusal(self, size_t number, Failure failure):
        """The error for what the reader met, in the words of ``twigcast.documents``."""
        limits = self.limits
        cdef bytes parsable = self.inputs[number].data[: self.inputs[number].size]
        if failure.trouble == Trouble.memory:
            raise MemoryError("no memory for the document")
        line, offset = failure.line, failure.column
        if failure.trouble == Trouble.malformed:
            return malformed(failure.code, line, offset, parsable, self.encodings.get(number))
        if failure.trouble == Trouble.entity:
            return missing_entity(line, offset, parsable)
        at = event_position(line, offset, parsable)
        if failure.trouble == Trouble.depth:
            return limit_exceeded(limits, "depth", *at)
        if failure.trouble == Trouble.attributes:
            return limit_exceeded(limits, "attributes", *at)
        if failure.trouble == Trouble.name_length:
            return limit_exceeded(limits, "name_length", *at)
        return DocumentError("the document holds more nodes or text than 32 bits can number", *at)


# Many subscriptions: answers, and the engine itself.
include "_engine.pxi"

# Plain trees, from text to plan.
include "_trees.pxi"

# The label paths of documents.
include "_skeletons.pxi"
