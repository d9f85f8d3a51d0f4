# distutils: language = c++
"""The compiled part of covering: a set of patterns and the searches over it.

Twigs come in as steps of a pattern tree and are numbered here: labels and atoms by dictionaries,
nodes in the order parents first.  The numbers that ``add`` returns name the patterns.
"""

from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cython.operator cimport dereference
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.utility cimport move
from libcpp.vector cimport vector

from twigcast.covering.values import with_consequences
from twigcast.language import (
    NUMBER_OPERATORS,
    Axis,
    FirstNode,
    Kind,
    Step,
    ValueTest,
    node_test,
    to_number,
    value_implies,
)

cdef object CHILD = Axis.CHILD
cdef object ELEMENT_KIND = Kind.ELEMENT
cdef dict KINDS = {Kind.ELEMENT: 1, Kind.ATTRIBUTE: 2, Kind.TEXT: 3}
cdef object NOT_ZERO = ValueTest("!=", 0.0)

# Twigs are walked by recursion.  What is parsed is far below this; a pattern built by hand may not.
cdef uint32_t DEEPEST = 1_000
cdef size_t MOST_ATOMS = 65_535


cdef class _Encoder:
    cdef void start(self, Terms* terms):
        self.terms = terms
        self.names = {None: 0}
        self.labels = {}
        self.paths = {}
        self.atoms = {}

    cdef uint32_t name(self, object text):
        cdef object number = self.names.get(text)
        if number is None:
            number = self.names[text] = len(self.names)
        return number

    cdef uint32_t label(self, object test) except? 0:
        cdef object number = self.labels.get(test)
        if number is None:
            number = self.labels[test] = self.terms.label(
                <NodeKind> <uint32_t> KINDS[test.kind], self.name(test.namespace), self.name(test.local)
            )
        return number

    cdef uint32_t value(self, object test) except? 0:
        cdef Atom atom
        cdef object number = self.atoms.get(test)
        if number is None:
            atom.comparison = <Comparison> <uint8_t> test.comparison.code
            operand = test.operand
            if isinstance(operand, str):
                atom.text = operand.encode("utf-8", "surrogatepass")
                atom.number = to_number(operand)
                atom.is_no_number = test.is_function and value_implies(test, NOT_ZERO)
            else:
                atom.number = operand
            number = self.atoms[test] = self.terms.atom(atom)
        return number

    cdef uint32_t position(self, object position, object test) except? 0:
        cdef Atom atom
        cdef object key = (position, test)
        cdef object number = self.atoms.get(key)
        if number is None:
            atom.comparison = <Comparison> <uint8_t> NUMBER_OPERATORS[position.operator].code
            atom.is_position = True
            atom.number = position.value
            atom.test = self.label(test)
            number = self.atoms[key] = self.terms.atom(atom)
        return number

    cdef int twigs(self, object steps, vector[Twig]& twigs) except -1:
        """Encode twigs, less those that no document holds."""
        cdef Twig twig
        if type(steps) is str:
            twig = Twig()
            self.path(steps, twig)
            twig.finish(dereference(self.terms))
            twigs.push_back(move(twig))
            return 0
        for step in steps:
            twig = Twig()
            if self.step(step, 0, 1, False, twig):
                twig.finish(dereference(self.terms))
                twigs.push_back(move(twig))
        return 0

    cdef int path(self, str text, Twig& twig) except -1:
        """Append the nodes of a linear expression in normal form."""
        cdef GivenNode node
        cdef bint exact = True
        cdef object label
        for name in text.split("/")[1:]:
            if not name:
                exact = False
                continue
            label = self.paths.get(name)
            if label is None:
                test = node_test(ELEMENT_KIND, "", name) if name != "*" else node_test(ELEMENT_KIND)
                label = self.paths[name] = self.label(test)
            node.parent = <uint32_t>(twig.nodes.size() - 1)
            node.label = label
            node.exact = exact
            twig.nodes.push_back(node)
            exact = True
        return 0

    cdef bint step(
        self, object step, uint32_t parent, uint32_t depth, bint only_given, Twig& twig
    ) except -1:
        """Append a branch; False where its comparisons contradict each other."""
        cdef GivenNode node
        cdef uint32_t own
        cdef object values = None
        cdef object test = step.test
        cdef tuple conditions = step.conditions
        if depth > DEEPEST:
            raise ValueError(f"a pattern can be {DEEPEST} steps deep at most to be searched")
        if parent == 0 and test.kind is not ELEMENT_KIND:
            node.parent = 0
            node.only_given = only_given
            twig.nodes.push_back(node)
            parent = <uint32_t>(twig.nodes.size() - 1)
        node.parent = parent
        node.label = self.label(test)
        node.exact = step.axis is CHILD
        node.only_given = only_given
        node.atoms = <uint32_t>twig.atoms.size()
        for condition in conditions:
            kind = type(condition)
            if kind is ValueTest:
                if values is None:
                    values = []
                values.append(condition)
                twig.atoms.push_back(self.value(condition))
            elif kind is not Step:
                node.others = not only_given
        if step.position is not None:
            twig.atoms.push_back(self.position(step.position, test))
        node.asked_atom_count = <uint16_t>(twig.atoms.size() - node.atoms)
        if values is not None and len(values) > 1:
            known = with_consequences(values)
            if known is None:
                return False
            for one in known:
                if one not in values:
                    twig.atoms.push_back(self.value(one))
        if twig.atoms.size() - node.atoms > MOST_ATOMS:
            raise ValueError(f"one step can have {MOST_ATOMS} comparisons at most to be searched")
        node.atom_count = <uint16_t>(twig.atoms.size() - node.atoms)
        twig.nodes.push_back(node)
        own = <uint32_t>(twig.nodes.size() - 1)
        for condition in conditions:
            kind = type(condition)
            if kind is Step:
                if not self.step(condition, own, depth + 1, only_given, twig):
                    return False
            elif kind is FirstNode:
                if not self.step(condition.as_branch(), own, depth + 1, True, twig):
                    return False
        return True


cdef class SearchKernel(_Encoder):
    """The set of CoverIndex; see ``cover/cover_index.hpp`` of the kernel."""

    cdef CoverIndex* index
    cdef list items
    cdef readonly bint is_spoilt  # memory ran out in the middle of a change

    def __cinit__(self):
        self.index = new CoverIndex()
        self.items = []
        self.start(&self.index.terms())

    def __dealloc__(self):
        del self.index

    @property
    def trie_nodes(self):
        return self.index.trie_size()

    @property
    def terms_known(self):
        return self.terms.size()

    def add(self, steps, item):
        cdef vector[Twig] twigs
        cdef uint32_t number
        self.twigs(steps, twigs)
        # Room for the item first: the list has an entry for every number that a search may report.
        if <size_t>len(self.items) <= self.index.entries():
            self.items.append(None)
        try:
            number = self.index.add(twigs)
        except BaseException:
            self.is_spoilt = True
            raise
        self.items[number] = item
        return number

    def remove(self, uint32_t number):
        try:
            self.index.remove(number)
        except BaseException:
            self.is_spoilt = True
            raise
        self.items[number] = None

    def replace(self, uint32_t number, item):
        self.items[number] = item

    def item(self, uint32_t number):
        return self.items[number]

    def covered(self, steps, bint linear=False):
        cdef vector[Twig] twigs
        cdef SearchResult result
        self.twigs(steps, twigs)
        if linear:
            self.index.linear_covered(twigs, result)
        else:
            self.index.covered(twigs, result)
        return self.items_of(result.certain), result.possible

    def covering(self, steps, bint linear=False):
        cdef vector[Twig] twigs
        cdef SearchResult result
        self.twigs(steps, twigs)
        if linear:
            self.index.linear_covering(twigs, result)
        else:
            self.index.covering(twigs, result)
        return self.items_of(result.certain), result.possible

    cdef list items_of(self, vector[uint32_t]& numbers):
        """The items of those numbers, which lie scattered: they are fetched ahead."""
        cdef list items = []
        cdef PyObject* item
        for number in numbers:
            prefetch(PyList_GET_ITEM(self.items, number))
        for number in numbers:
            item = <PyObject*>PyList_GET_ITEM(self.items, number)
            if PyTuple_CheckExact(<object>item) and PyTuple_GET_SIZE(<object>item) > 0:
                prefetch(PyTuple_GET_ITEM(<object>item, 0))
            items.append(<object>item)
        return items

    def value_implies(self, given, asked):
        return self.terms.implies(self.value(given), self.value(asked))
