cdef class KernelView:
    """An array of the kernel's, to be looked at as a memoryview; keeps its owner alive."""

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if flags & PyBUF_WRITABLE:
            raise BufferError("what the kernel holds cannot be changed")
        cdef Py_ssize_t width = self.strides[self.dimensions - 1]
        buffer.buf = <void*> self.data
        buffer.obj = self
        buffer.len = self.shape[0] * self.strides[0]
        buffer.readonly = 1
        buffer.format = b"q" if width == 8 else b"I" if width == 4 else b"B"
        buffer.ndim = self.dimensions
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = NULL
        buffer.itemsize = width
        buffer.internal = NULL


cdef object _view(owner, const void* data, size_t count, Py_ssize_t width, size_t row=0):
    """A view of so many numbers of that width in bytes, or of so many rows of numbers."""
    cdef KernelView view = KernelView.__new__(KernelView)
    view.owner = owner
    view.data = data if count else <const void*> &_NOTHING
    view.dimensions = 2 if row else 1
    view.shape[0] = count
    view.shape[1] = row
    view.strides[0] = width * row if row else width
    view.strides[1] = width
    return memoryview(view)


cdef class KeyMemory:
    """Keeps keys where they are: what the index had when it was asked, or the mapped file."""


cdef str _key(string_view key):
    return PyUnicode_DecodeUTF8(key.data(), key.size(), "surrogatepass")


cdef list _spelled(const Keys& keys, const NumberBuffer& numbers):
    """The keys of subscriptions; their memory is asked for before it is used."""
    cdef size_t at, ahead = 16, count = numbers.size()
    cdef const uint32_t* number = numbers.data()
    cdef list spelled = PyList_New(count)
    for at in range(count):
        if at + 2 * ahead < count:
            keys.prefetch_end(number[at + 2 * ahead])
            keys.prefetch(number[at + ahead])
        key = _key(keys[number[at]])
        Py_INCREF(key)
        PyList_SET_ITEM(spelled, at, key)
    return spelled


cdef class Answers:
    """What the documents of a batch match, as numbers; subscribers are looked up when asked for."""

    def __len__(self):
        return self.batch.offsets.size() - 1

    @property
    def generation(self):
        return self.batch.index.get().generation

    @property
    def pattern_offsets(self):
        return _view(self, self.batch.offsets.data(), self.batch.offsets.size(), 8)

    @property
    def pattern_ids(self):
        return _view(self, self.batch.patterns.data(), self.batch.patterns.size(), 4)

    @property
    def vectors(self):
        return _view(
            self,
            self.batch.vectors.rows.data(),
            self.batch.vectors.looked_at.size(),
            4,
            self.batch.vectors.words,
        )

    @property
    def looked_at(self):
        return _view(self, self.batch.vectors.looked_at.data(), self.batch.vectors.looked_at.size(), 4)

    @property
    def offsets(self):
        self.expand_all()
        return _view(self, self.expanded_offsets.data(), self.expanded_offsets.size(), 8)

    @property
    def ids(self):
        self.expand_all()
        return _view(self, self.expanded.data(), self.expanded.size(), 4)

    cdef int expand_all(self) except -1:
        cdef vector[int64_t] offsets
        cdef NumberBuffer numbers
        if self.expanded_offsets.size():
            return 0
        offsets.push_back(0)
        with nogil:
            self.engine.engine.expand(
                self.batch, 0, self.batch.offsets.size() - 1, numbers, offsets
            )
        # Another thread may have done the same meanwhile, and have given out views of it.
        if not self.expanded_offsets.size():
            self.expanded = move(numbers)
            self.expanded_offsets.swap(offsets)
        return 0

    def keys(self, size_t document):
        """The keys of the subscriptions that one of the documents matches."""
        if document + 1 >= self.batch.offsets.size():
            raise IndexError(f"there are {len(self)} documents in the batch")
        cdef NumberBuffer numbers
        cdef vector[int64_t] ends
        with nogil:
            self.engine.engine.expand(self.batch, document, document + 1, numbers, ends)
        return self.spell(numbers)

    def key(self, number):
        """The key of a subscription that is among ``ids``."""
        cdef Keys keys
        with nogil:
            keys = self.engine.engine.keys(self.batch.index.get()[0])
        if not 0 <= number < keys.count:
            raise IndexError(f"{number} is no number of a subscription")
        return _key(keys[<uint32_t> number])

    def all_keys(self):
        """The keys by number, one behind the other as UTF-8, and where each begins."""
        cdef KeyMemory memory = KeyMemory.__new__(KeyMemory)
        memory.engine = self.engine
        with nogil:
            memory.keys = self.engine.engine.keys(self.batch.index.get()[0])
        cdef uint32_t count = memory.keys.count
        return (
            _view(memory, memory.keys.texts, memory.keys.ends[count], 1),
            _view(memory, memory.keys.ends, count + 1, 8),
        )

    def has_repeated_keys(self):
        """Whether a key left and came again, so that it has several numbers."""
        cdef bool has_repeated
        with nogil:
            has_repeated = self.engine.engine.has_repeated_keys(self.batch.index.get()[0])
        return has_repeated

    cdef int add_undecided(self) except -1:
        """An error for each document of which some patterns were not decided."""
        cdef NumberBuffer numbers
        cdef uint32_t pattern
        concerned = {}
        for undecided in self.batch.undecided:
            pattern = undecided.second
            numbers.shrink(0)
            with nogil:
                self.engine.engine.expand(
                    self.batch, undecided.first, &pattern, &pattern + 1, numbers
                )
                if self.batch.seeks_destinations:
                    self.engine.engine.keep_undecided(self.batch, undecided.first, numbers)
            concerned.setdefault(undecided.first, []).extend(self.spell(numbers))
        for document, keys in concerned.items():
            self.errors[document] = EvaluationBudgetError(tuple(keys), tuple(self.keys(document)))
        return 0

    cdef list spell(self, const NumberBuffer& numbers):
        cdef Keys keys
        with nogil:
            keys = self.engine.engine.keys(self.batch.index.get()[0])
        return _spelled(keys, numbers)


cdef class MatchEngine:
    """All subscriptions together; :class:`twigcast.Matcher` says what it does."""

    def __cinit__(self, size_t cache_bytes, mapping=None):
        cdef HashSecret secret
        cdef const unsigned char[::1] view
        cdef const char* data
        cdef FileTrouble trouble
        cache_bytes = min(cache_bytes, _MOST)
        if mapping is None:
            secret.start = int.from_bytes(os.urandom(8), "little")
            secret.factor = int.from_bytes(os.urandom(8), "little") | 1
            self.engine = new Engine(_expat, secret, cache_bytes)
            return
        view = mapping
        data = <const char*> &view[0]
        self.mapping = mapping
        self.engine = new Engine(_expat, IndexFile.secret_of(data, len(mapping)), cache_bytes)
        cdef size_t size = len(mapping)
        with nogil:
            trouble = self.engine.open(data, size)
        if trouble != FileTrouble.none:
            raise ValueError(_FILE_TROUBLES[<int> trouble])

    def __dealloc__(self):
        del self.engine

    def pause(self):
        """Before a fork: wait until no document is being matched, and let none begin; itself."""
        with nogil:
            self.engine.pause()
        return self

    def resume(self, bool is_child):
        """After a fork, in the parent and in the child."""
        self.engine.resume(is_child)

    def add_path(self, bytes key, bytes path, uint32_t destination, int rule):
        """Subscribe to a pattern that is one path, given by its canonical text."""
        cdef string_view key_view = _view_of(key), path_view = _view_of(path)
        cdef Update update
        with nogil:
            update = self.engine.add_path(key_view, path_view, destination, <KeyRule> rule)
        return _UPDATES[<int> update]

    def add_text(self, bytes key, bytes text, uint32_t destination, int rule):
        """Subscribe to a pattern in canonical text, if it is there already or is a plain tree."""
        cdef string_view key_view = _view_of(key), text_view = _view_of(text)
        cdef Update update
        with nogil:
            update = self.engine.add_text(key_view, text_view, destination, <KeyRule> rule)
        return _UPDATES[<int> update]

    def add_compound(
        self,
        bytes key,
        bytes text,
        CompiledPattern pattern not None,
        units,
        uint32_t destination,
        int rule,
    ):
        """Subscribe to any other pattern, with its units as ``plan`` lays them out."""
        cdef string_view key_view = _view_of(key), text_view = _view_of(text)
        cdef vector[UnitPlan] plans
        cdef UnitPlan plan
        cdef BranchPlan branch_plan
        cdef Update update
        cdef string program = ProgramWriter.write(pattern.program)
        for unit in units:
            plan.needs_check = unit.needs_check
            plan.branches.clear()
            plan.denials.clear()
            for branch in (*unit.branches, *unit.denials):
                branch_plan.path = branch.path
                branch_plan.predicate = branch.predicate or b""
                branch_plan.is_probe = branch.predicate is not None
                branch_plan.above = _NOWHERE if branch.above is None else branch.above
                if plan.branches.size() < <size_t> len(unit.branches):
                    plan.branches.push_back(branch_plan)
                else:
                    plan.denials.push_back(branch_plan)
            plans.push_back(plan)
        with nogil:
            update = self.engine.add_compound(
                key_view, text_view, string_view(program), plans, destination, <KeyRule> rule
            )
        return _UPDATES[<int> update]

    def remove(self, bytes key):
        """End a subscription."""
        cdef string_view view = _view_of(key)
        cdef Update update
        with nogil:
            update = self.engine.remove(view)
        return _UPDATES[<int> update]

    def match(self, Documents documents not None, bool seeks_destinations=False):
        """What each of the documents matches, or else which destinations want it."""
        cdef Answers answers = Answers.__new__(Answers)
        cdef Limits bounds = _bounds(documents.limits)
        answers.engine = self
        answers.errors = documents.errors
        answers.batch.seeks_destinations = seeks_destinations
        cdef size_t begin = 0, end = 0, size, count = documents.inputs.size()
        cdef DocumentMatcher* matcher
        # Never wait for other threads with the interpreter lock held: they may be waiting for it.
        with nogil:
            matcher = self.engine.start(answers.batch)
        try:
            # Only between stretches of work can a signal, such as Ctrl-C, be noticed.
            while begin < count:
                with nogil:
                    size = 0
                    while end < count and size < _BYTES_AT_ONCE:
                        size += documents.inputs[end].size
                        end += 1
                    self.engine.match(matcher[0], documents.inputs, begin, end, bounds, answers.batch)
                begin = end
                PyErr_CheckSignals()
        finally:
            with nogil:
                self.engine.finish(matcher)
        answers.batch.patterns.trim()
        for pair in answers.batch.failures:
            answers.errors[pair.first] = documents.refusal(pair.first, pair.second)
        if not answers.batch.undecided.empty():
            answers.add_undecided()
        return answers

    def learn(self, go_on):
        """Build label paths that the file told of while ``go_on()`` holds and no document waits.

        Whether ``go_on`` ended it, so that there are more.
        """
        cdef Batch batch
        cdef Learning learning
        cdef DocumentMatcher* matcher
        cdef bool has_more = True
        with nogil:
            matcher = self.engine.start_learning(batch)
        try:
            while has_more and go_on():
                with nogil:
                    has_more = not self.engine.is_awaited() and self.engine.learn(
                        matcher[0], learning, _PATHS_AT_ONCE
                    )
        finally:
            with nogil:
                self.engine.finish_learning(matcher)
        return has_more

    def __len__(self):
        cdef size_t size
        with nogil:
            size = self.engine.size()
        return size

    def __contains__(self, bytes key):
        cdef string_view view = _view_of(key)
        cdef bool is_known
        with nogil:
            is_known = self.engine.has(view)
        return is_known

    def text(self, bytes key):
        """The canonical text of a subscription, or None."""
        cdef string_view view = _view_of(key)
        cdef string text
        with nogil:
            text = self.engine.text_of(view)
        return _key(string_view(text.data(), text.size())) if text.size() else None

    def keys(self):
        """The keys of all subscriptions."""
        cdef Keys keys
        cdef NumberBuffer numbers
        with nogil:
            keys = self.engine.list(numbers)
        return _spelled(keys, numbers)

    def statistics(self):
        """Subscriptions, distinct patterns, trie nodes, bytes; cached paths and their bytes."""
        cdef Statistics counted
        with nogil:
            counted = self.engine.statistics()
        return (
            counted.subscriptions,
            counted.patterns,
            counted.states,
            counted.bytes,
            counted.cached_paths,
            counted.cached_bytes,
        )

    def write(self, write):
        """Hand the pieces of a file, one after the other, to ``write``."""
        cdef shared_ptr[Index] index
        cdef IndexFile* file
        with nogil:
            index = self.engine.copy()
            file = new IndexFile(index.get()[0])
        try:
            for piece in file.pieces:
                write(<const unsigned char[: piece.size]> <const unsigned char*> piece.data)
        finally:
            del file


cdef string_view _view_of(bytes text):
    return string_view(<const char*> text, len(text))
