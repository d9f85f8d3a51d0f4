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


cdef extern from "cover/implications.hpp" namespace "twigcast::cover" nogil:
    cdef cppclass Implications:
        vector[uint32_t] open(uint32_t, boolean) except +
        void settle(uint32_t, boolean, const vector[uint32_t]&) except +
        void make_room() except +
        size_t size()


cdef extern from *:
    """
    #include "cover/implications.hpp"

    static inline uint32_t add_other(twigcast::cover::Implications& others, const char* needs,
                                     const char* offers, bool is_negated) {
        twigcast::cover::Implications::Bits first, second;
        std::memcpy(first.data(), needs, sizeof first);
        std::memcpy(second.data(), offers, sizeof second);
        return others.add(first, second, is_negated);
    }
    """
    uint32_t add_other(Implications&, const char*, const char*, boolean) except +


cdef extern from "cover/terms.hpp" namespace "twigcast::cover" nogil:
    cdef cppclass Atom:
        Atom()
        Comparison comparison
        boolean is_position
        boolean is_no_number
        double number
        string text
        uint32_t test

    cdef enum class DenialOf "twigcast::cover::Denial::Of"(uint8_t):
        nothing
        value
        attribute
        root

    cdef cppclass Terms:
        Implications others
        void deny(uint32_t, DenialOf, uint32_t, const vector[uint32_t]&) except +
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
        uint16_t other_count
        uint16_t asked_other_count
        boolean exact
        boolean only_given
        boolean is_choosing

    cdef cppclass Twig:
        Twig()
        vector[GivenNode] nodes
        vector[uint32_t] atoms
        boolean has_choice
        boolean has_others
        void mention(uint32_t)
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
    cdef dict other_numbers
    cdef list other_conditions  # by their numbers

    cdef void start(self, Terms* terms)
    cdef uint32_t name(self, object text)
    cdef uint32_t label(self, object test) except? 0
    cdef uint32_t value(self, object test) except? 0
    cdef uint32_t position(self, object position, object test) except? 0
    cdef int twigs(self, object steps, vector[Twig]& twigs) except -1
    cdef int path(self, str text, Twig& twig) except -1
    cdef uint32_t other(self, object condition, bint at_document) except? 0
    cdef bint conditions(
        self, tuple conditions, object step, GivenNode& node, bint at_document, Twig& twig
    ) except -1
    cdef int append_others(
        self, list others, list weaker, GivenNode& node, bint at_document, Twig& twig
    ) except -1
    cdef int compare_others(self, const vector[Twig]& twigs, bint are_given) except -1
    cdef bint branches(
        self, tuple conditions, uint32_t parent, uint32_t depth, bint only_given, Twig& twig
    ) except -1
    cdef bint step(
        self, object step, uint32_t parent, uint32_t depth, bint only_given, Twig& twig
    ) except -1
