# What the kernel offers for covering; see src/kernel/cover for what it means.

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp cimport bool as boolean
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from *:
    """
    static inline void prefetch(const void* at) { __builtin_prefetch(at); }
    """
    void prefetch(const void*) nogil


cdef extern from "base/common.hpp" namespace "twigcast::base" nogil:
    cdef cppclass NodeKind "twigcast::base::Kind":
        pass


cdef extern from "base/operators.hpp" namespace "twigcast::base" nogil:
    cdef cppclass Comparison:
        pass


cdef extern from "cover/terms.hpp" namespace "twigcast::cover" nogil:
    cdef cppclass Atom:
        Atom()
        Comparison comparison
        boolean is_position
        boolean is_no_number
        double number
        string text
        uint32_t test

    cdef cppclass Terms:
        uint32_t label(NodeKind, uint32_t, uint32_t) except +
        uint32_t atom(Atom) except +
        boolean implies(uint32_t, uint32_t)
        size_t size()


cdef extern from "cover/twig.hpp" namespace "twigcast::cover" nogil:
    cdef cppclass GivenNode:
        GivenNode()
        uint32_t parent
        uint32_t label
        uint32_t atoms
        uint16_t atom_count
        uint16_t asked_atom_count
        boolean exact
        boolean only_given
        boolean others

    cdef cppclass Twig:
        Twig()
        vector[GivenNode] nodes
        vector[uint32_t] atoms
        boolean others
        void finish(const Terms&) except +


cdef extern from "cover/cover_index.hpp" namespace "twigcast::cover" nogil:
    cdef cppclass SearchResult:
        SearchResult()
        vector[uint32_t] certain
        vector[uint32_t] possible

    cdef cppclass CoverIndex:
        CoverIndex() except +
        Terms& terms()
        size_t trie_size()
        size_t entries()
        uint32_t add(vector[Twig]&) except +
        void remove(uint32_t) except +
        void covered(const vector[Twig]&, SearchResult&) except +
        void covering(const vector[Twig]&, SearchResult&) except +
        void linear_covered(const vector[Twig]&, SearchResult&) except +
        void linear_covering(const vector[Twig]&, SearchResult&) except +


cdef class _Encoder:
    """Numbers for names, labels and atoms, and twigs made of them; lab/published encodes so, too."""

    cdef Terms* terms
    cdef dict names
    cdef dict labels
    cdef dict paths  # labels by the names in linear expressions
    cdef dict atoms

    cdef void start(self, Terms* terms)
    cdef uint32_t name(self, object text)
    cdef uint32_t label(self, object test) except? 0
    cdef uint32_t value(self, object test) except? 0
    cdef uint32_t position(self, object position, object test) except? 0
    cdef int twigs(self, object steps, vector[Twig]& twigs) except -1
    cdef int path(self, str text, Twig& twig) except -1
    cdef bint step(
        self, object step, uint32_t parent, uint32_t depth, bint only_given, Twig& twig
    ) except -1
