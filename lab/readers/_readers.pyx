# distutils: language = c++
"""Both readers of the kernel; ``readers.hpp`` says how they are compared."""

from cpython.pycapsule cimport PyCapsule_Import
from libc.stdint cimport uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

import os

from twigcast.matching._kernel cimport (
    EXPAT_CAPSULE,
    Documents,
    ExpatTable,
    Input,
    Limits,
    Prologue,
    hash_secret,
    prologue_of,
)

from twigcast.documents import DEFAULT_LIMITS


cdef extern from "readers.hpp" namespace "lab" nogil:
    const int OUTCOMES
    cdef cppclass Outcome:
        pass
    int outcome_number "static_cast<int>" (Outcome)
    cdef cppclass Readers:
        Readers(const ExpatTable*) except +
        Outcome compare(const Input&, const Limits&) except +
        size_t count_events(const vector[Input]&, const Limits&) except +
    cdef cppclass Findings:
        size_t counts[5]
        string example
    Findings _fuzz "lab::fuzz" (
        const ExpatTable*, const vector[string]&, const vector[string]&, uint64_t, size_t
    ) except +

_OUTCOMES = ("alike", "left to expat", "refused", "wrongly taken", "other events")
cdef const ExpatTable* _expat = <const ExpatTable*> PyCapsule_Import(EXPAT_CAPSULE, 0)
# Where the linker does not share the secret of the kernel with this module, it has one of its own;
# a shared one must stay, since documents are read with it.
if hash_secret.start == 0:
    hash_secret.start = int.from_bytes(os.urandom(8), "little")
    hash_secret.factor = int.from_bytes(os.urandom(8), "little") | 1


cdef Input _input(bytes document, const char* encoding):
    cdef Input given
    given.data = document
    given.size = len(document)
    given.encoding = encoding
    given.has_type = prologue_of(given.data, given.size, len(document) + 1, False) != Prologue.plain
    given.only_expat = False
    given.now = 0
    return given


cdef Limits _limits():
    cdef Limits limits
    limits.depth = 512
    limits.attributes = 1_000
    limits.name_length = 4_000
    return limits


cdef class ReaderPair:
    """The checked reader and expat, which keep what they have learned from document to document."""

    cdef Readers* readers

    def __cinit__(self):
        self.readers = new Readers(_expat)

    def __dealloc__(self):
        del self.readers

    def compare(self, bytes document not None, encoding=None):
        """What comes of reading a document both ways."""
        cdef bytes name = (encoding or "").encode()
        given = _input(document, <const char*> name if encoding else NULL)
        return _OUTCOMES[outcome_number(self.readers.compare(given, _limits()))]

    def count_events(self, documents, reader="checked"):
        """How many events the documents have in all."""
        cdef Documents prepared = Documents(DEFAULT_LIMITS, reader)
        cdef Limits limits = _limits()
        cdef size_t count
        prepared.add_all(documents)
        with nogil:
            count = self.readers.count_events(prepared.inputs, limits)
        return count


def fuzz(list seeds not None, list tokens not None, uint64_t seed, size_t count):
    """How often each came of reading damaged documents both ways, and an example of a finding."""
    cdef vector[string] documents = seeds, words = tokens
    cdef Findings findings
    with nogil:
        findings = _fuzz(_expat, documents, words, seed, count)
    counts = {name: findings.counts[number] for number, name in enumerate(_OUTCOMES)}
    return counts, findings.example.data()[: findings.example.size()]
