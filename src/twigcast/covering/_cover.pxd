# What the C++ of this folder offers; see the headers for what it means.

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp cimport bool as boolean
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from *:
    """
    static inline void prefetch(const void* at) { __builtin_prefetch(at); }
    """
    void prefetch(const void*) nogil


cdef extern from "_terms.hpp" namespace "twigcast" nogil:
    cdef cppclass Atom:
        Atom()
        uint8_t operation
        boolean is_text
        boolean is_no_number
        double number
        string text
        uint32_t test

    cdef cppclass Terms:
        uint32_t label(uint8_t, uint32_t, uint32_t) except +
        uint32_t atom(Atom) except +
        boolean implies(uint32_t, uint32_t)
        size_t size()


cdef extern from "_twig.hpp" namespace "twigcast" nogil:
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


cdef extern from "_coverindex.hpp" namespace "twigcast" nogil:
    cdef cppclass Found:
        Found()
        vector[uint32_t] certain
        vector[uint32_t] possible

    cdef cppclass CoverIndex:
        CoverIndex() except +
        Terms& terms()
        size_t places()
        size_t entries()
        uint32_t add(vector[Twig]&) except +
        void remove(uint32_t) except +
        void covered(const vector[Twig]&, Found&) except +
        void covering(const vector[Twig]&, Found&) except +
        void linear_covered(const vector[Twig]&, Found&) except +
        void linear_covering(const vector[Twig]&, Found&) except +


cdef extern from "_published.hpp" namespace "twigcast" nogil:
    cdef cppclass PublishedSearch:
        PublishedSearch(const Terms&) except +
        void add(uint32_t, const Twig&) except +
        void remove(uint32_t) except +
        size_t places()
        vector[uint32_t] covered(const Twig&) except +
        vector[uint32_t] covering(const Twig&) except +
