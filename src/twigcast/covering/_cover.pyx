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

from twigcast.covering.conditions import can_all_hold, denial_of, implied, implies_other
from twigcast.covering.signatures import WIDTH, signature
from twigcast.language import (
    NUMBER_OPERATORS,
    Axis,
    Either,
    Kind,
    Step,
    ValueTest,
    node_test,
    to_number,
    value_implies,
    walk,
    with_consequences,
)

cdef object CHILD = Axis.CHILD
cdef object ELEMENT_KIND = Kind.ELEMENT
cdef dict KINDS = {Kind.ELEMENT: 1, Kind.ATTRIBUTE: 2, Kind.TEXT: 3}
cdef object ANY_ELEMENT = node_test(Kind.ELEMENT)
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
        self.other_numbers = {}
        self.other_conditions = []

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

    cdef uint32_t other(self, object condition, bint at_document) except? 0:
        cdef vector[uint32_t] tests
        cdef object key = condition
        cdef object denial = denial_of(condition, at_document=at_document)
        cdef bint is_root = denial is not None and denial.test is not None and not denial.values
        if is_root:
            key = (condition,)  # elsewhere it denies a child, of which there may be others
        cdef object number = self.other_numbers.get(key)
        if number is not None:
            return number
        if denial is not None:
            for test in denial.values:
                tests.push_back(self.value(test))
        label = self.label(denial.test) if denial is not None and denial.test is not None else 0
        mark = signature(condition)
        # The list first: it has an entry for every number that a search may ask for.
        del self.other_conditions[self.terms.others.size():]
        self.other_conditions.append(condition)
        number = add_other(
            self.terms.others,
            <bytes>mark.needs.to_bytes(WIDTH // 8, "little"),
            <bytes>mark.offers.to_bytes(WIDTH // 8, "little"),
            mark.is_negated,
        )
        if is_root:
            self.terms.deny(number, DenialOf.root, label, tests)
        elif denial is not None:
            of = DenialOf.value if denial.test is None else DenialOf.attribute
            self.terms.deny(number, of, label, tests)
        self.other_numbers[key] = number
        return number

    cdef int twigs(self, object split, vector[Twig]& twigs) except -1:
        """Encode twigs, less those that no document holds."""
        cdef Twig twig
        cdef GivenNode node
        if type(split) is str:
            twig = Twig()
            self.path(split, twig)
            twig.finish(dereference(self.terms))
            twigs.push_back(move(twig))
            return 0
        for conditions in split:
            twig = Twig()
            node = GivenNode()
            if not self.conditions(conditions, None, node, True, twig):
                continue
            twig.nodes[0] = node
            if not self.branches(conditions, 0, 1, False, twig):
                continue
            if twig.nodes.size() == 1:  # there is a root
                node = GivenNode()
                node.only_given = True
                twig.nodes.push_back(node)
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
        cdef object test = step.test
        cdef tuple conditions = step.conditions
        if depth > DEEPEST:
            raise ValueError(f"a pattern can be {DEEPEST} steps deep at most to be searched")
        node.only_given = only_given
        if parent == 0 and test.kind is not ELEMENT_KIND:
            node.parent = 0
            twig.nodes.push_back(node)
            parent = <uint32_t>(twig.nodes.size() - 1)
        node.parent = parent
        node.label = self.label(test)
        node.exact = step.axis is CHILD
        if not self.conditions(conditions, step, node, False, twig):
            return False
        twig.nodes.push_back(node)
        return self.branches(
            conditions, <uint32_t>(twig.nodes.size() - 1), depth + 1, only_given, twig
        )

    cdef bint branches(
        self, tuple conditions, uint32_t parent, uint32_t depth, bint only_given, Twig& twig
    ) except -1:
        """Append the branches among the conditions of a node, and those that follow from them."""
        for condition in conditions:
            kind = type(condition)
            if kind is Step:
                if not self.step(condition, parent, depth, only_given, twig):
                    return False
            elif kind is not ValueTest:
                for weaker in implied(condition):
                    if type(weaker) is Step and not self.step(weaker, parent, depth, True, twig):
                        return False
        return True

    cdef bint conditions(
        self, tuple conditions, object step, GivenNode& node, bint at_document, Twig& twig
    ) except -1:
        """Append what is no branch; False where comparisons contradict each other."""
        cdef object values = None
        cdef list others = None
        cdef list only_given = None
        node.atoms = <uint32_t>twig.atoms.size()
        if not conditions and (step is None or step.position is None):
            return True
        for condition in conditions:
            kind = type(condition)
            if kind is ValueTest:
                if values is None:
                    values = []
                values.append(condition)
                twig.atoms.push_back(self.value(condition))
            elif kind is not Step:
                if others is None:
                    others = []
                others.append(condition)
        if step is not None and step.position is not None:
            twig.atoms.push_back(self.position(step.position, step.test))
        node.asked_atom_count = <uint16_t>(twig.atoms.size() - node.atoms)
        if others is not None:
            only_given = [weaker for condition in others for weaker in implied(condition)]
            if only_given and not can_all_hold(only_given, ANY_ELEMENT if step is None else step.test):
                return False
        if values is not None or only_given:
            asked = values or []
            known = asked + [weaker for weaker in only_given or () if type(weaker) is ValueTest]
            if len(known) > 1:
                known = with_consequences(known)
                if known is None:
                    return False
            for one in known:
                if one not in asked:
                    twig.atoms.push_back(self.value(one))
        if twig.atoms.size() - node.atoms > MOST_ATOMS:
            raise ValueError(f"one step can have {MOST_ATOMS} comparisons at most to be searched")
        node.atom_count = <uint16_t>(twig.atoms.size() - node.atoms)
        if others is not None:
            self.append_others(others, only_given, node, at_document, twig)
        return True

    cdef int append_others(
        self, list others, list weaker, GivenNode& node, bint at_document, Twig& twig
    ) except -1:
        cdef list given = [one for one in weaker if not isinstance(one, (Step, ValueTest))]
        cdef size_t start = twig.atoms.size()
        for condition in others:
            if type(condition) is Either:
                if not node.only_given:
                    twig.has_choice = node.is_choosing = True
                    for each in walk(condition):
                        if type(each) is Step:
                            twig.mention(self.label(each.test))
                continue
            twig.atoms.push_back(self.other(condition, at_document))
        node.asked_other_count = <uint16_t>(twig.atoms.size() - start)
        for condition in given:
            twig.atoms.push_back(self.other(condition, at_document))
        if twig.atoms.size() - start > MOST_ATOMS:
            raise ValueError(f"one step can have {MOST_ATOMS} conditions at most to be searched")
        node.other_count = <uint16_t>(twig.atoms.size() - start)
        return 0

    cdef int compare_others(self, const vector[Twig]& twigs, bint are_given) except -1:
        """Find out what the conditions of some twigs imply, or what implies them, if it is new."""
        cdef vector[uint32_t] related
        self.terms.others.make_room()
        for twig in range(twigs.size()):
            if not twigs[twig].has_others:
                continue
            for node in twigs[twig].nodes:
                for at in range(node.other_count):
                    own = twigs[twig].atoms[node.atoms + node.atom_count + at]
                    condition = self.other_conditions[own]
                    related.clear()
                    for other in self.terms.others.open(own, are_given):
                        if are_given:
                            holds = implies_other(condition, self.other_conditions[other])
                        else:
                            holds = implies_other(self.other_conditions[other], condition)
                        if holds:
                            related.push_back(other)
                    self.terms.others.settle(own, are_given, related)
        return 0


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
        self.compare_others(twigs, False)
        if linear:
            self.index.linear_covered(twigs, result)
        else:
            self.index.covered(twigs, result)
        return self.items_of(result.certain), result.possible

    def covering(self, steps, bint linear=False):
        cdef vector[Twig] twigs
        cdef SearchResult result
        self.twigs(steps, twigs)
        self.compare_others(twigs, True)
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
