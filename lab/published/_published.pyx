# distutils: language = c++
"""XSEARCH as published, compiled; see ``published.hpp``.  A pattern is one twig here."""

from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from twigcast.covering._cover cimport Terms, Twig, _Encoder


cdef extern from "published.hpp" namespace "lab" nogil:
    cdef cppclass PublishedSearch:
        PublishedSearch(const Terms&) except +
        void add(uint32_t, const Twig&) except +
        void remove(uint32_t) except +
        size_t trie_size()
        vector[uint32_t] covered(const Twig&) except +
        vector[uint32_t] covering(const Twig&) except +


cdef class PublishedKernel(_Encoder):
    """The factorization tree and both searches; numbers name the patterns."""

    cdef Terms own
    cdef PublishedSearch* search

    def __cinit__(self):
        self.search = new PublishedSearch(self.own)
        self.start(&self.own)

    def __dealloc__(self):
        del self.search

    @property
    def trie_nodes(self):
        return self.search.trie_size()

    cdef int tree(self, object step, Twig& twig) except -1:
        """Encode a tree, or refuse it where the published algorithm would ignore a part of it."""
        cdef bint is_possible = self.step(step, 0, 1, False, twig)
        for node in twig.nodes:
            if node.is_choosing or node.other_count:
                raise ValueError(f"the published algorithm takes no not() and the like: {step.text}")
        if not is_possible:
            raise ValueError(f"the published algorithm takes no pattern that never matches: {step.text}")
        return 0

    def add(self, uint32_t number, step):
        cdef Twig twig
        self.tree(step, twig)
        self.search.add(number, twig)

    def remove(self, uint32_t number):
        self.search.remove(number)

    def covered(self, step):
        cdef Twig twig
        self.tree(step, twig)
        return self.search.covered(twig)

    def covering(self, step):
        cdef Twig twig
        self.tree(step, twig)
        return self.search.covering(twig)
