# The C contract of the kernel: what other compiled modules may use.

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector


cdef extern from "_expat.hpp" namespace "twigcast" nogil:
    cdef cppclass ExpatTable:
        pass
    const char* EXPAT_CAPSULE
    bool is_usable(const ExpatTable*)


cdef extern from "_document.hpp" namespace "twigcast" nogil:
    cdef cppclass Kind:
        pass
    cdef cppclass Node:
        uint32_t label, parent, end, text_begin, text_end, depth
    cdef cppclass Names:
        uint32_t size() const
        string_view namespace_of(uint32_t) const
        string_view local_of(uint32_t) const
    cdef cppclass Document:
        vector[Node] nodes
        string text
        string values
        Names names
        string_view value_of(uint32_t) const
        size_t byte_size() const
    struct HashSecret:
        uint64_t start
        uint64_t factor
    HashSecret hash_secret
    uint32_t kind_number "static_cast<std::uint32_t>" (Kind)
    Kind kind_of(uint32_t label)
    uint32_t name_of(uint32_t label)


cdef extern from "_reader.hpp" namespace "twigcast" nogil:
    struct Limits:
        uint64_t depth
        uint64_t attributes
        uint64_t name_length
    cdef enum class Trouble(int):
        none
        malformed
        depth
        attributes
        name_length
        entity
        capacity
        memory
    struct Failure:
        Trouble trouble
        int code
        unsigned long line
        unsigned long column
    cdef cppclass Reader:
        Reader(const ExpatTable*, const Limits&, Document&)
        Failure read(const char* data, size_t size, const char* encoding, bool has_type)


cdef extern from "_prologue.hpp" namespace "twigcast" nogil:
    bool is_plain(const char* data, size_t size, size_t window)


cdef extern from "_program.hpp" namespace "twigcast" nogil:
    cdef enum class Operation(int):
        step
    cdef enum class Ordinal(int):
        any
    cdef enum class Comparison(int):
        equal_text
    cdef cppclass NodeTest:
        Kind kind
        bool any_namespace, any_local
        string space, local, name
    cdef cppclass Instruction:
        Operation operation
        bool descendant
        uint32_t test
        Ordinal ordinal
        uint32_t position
        Comparison comparison
        double number
        string operand
        uint32_t children_begin, children_end
    cdef cppclass Program:
        vector[NodeTest] tests
        vector[Instruction] instructions
        vector[uint32_t] children
        vector[uint32_t] alternatives
        bool is_sound() const


cdef extern from "_evaluate.hpp" namespace "twigcast" nogil:
    cdef cppclass Evaluation:
        Evaluation(const Document&, const Program&) except +
        bool matches() except +


cdef class CompiledPattern:
    cdef Program program
    cdef readonly object source


cdef class CompactDocument:
    cdef Document document
