# The C contract of the kernel: what other compiled modules may use.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.memory cimport shared_ptr
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.utility cimport pair
from libcpp.vector cimport vector


cdef extern from "xml/expat.hpp" namespace "twigcast::xml" nogil:
    cdef cppclass ExpatTable:
        pass
    const char* EXPAT_CAPSULE
    bool is_usable(const ExpatTable*)


cdef extern from "base/hash.hpp" namespace "twigcast::base" nogil:
    struct HashSecret:
        uint64_t start
        uint64_t factor


cdef extern from "base/common.hpp" namespace "twigcast::base" nogil:
    cdef cppclass Kind:
        pass
    uint32_t kind_number "static_cast<std::uint32_t>" (Kind)


cdef extern from "xml/names.hpp" namespace "twigcast::xml" nogil:
    HashSecret hash_secret
    cdef cppclass Names:
        uint32_t size() const
        string_view namespace_of(uint32_t) const
        string_view local_of(uint32_t) const


cdef extern from "xml/qualifiers.hpp" namespace "twigcast::xml" nogil:
    cdef cppclass Qualifiers:
        bool is_known


cdef extern from "xml/document.hpp" namespace "twigcast::xml" nogil:
    cdef cppclass Node:
        uint32_t label, parent, end, text_begin, text_end, depth
    cdef cppclass Document:
        vector[Node] nodes
        string text
        string values
        Names names
        Qualifiers qualifiers
        string_view value_of(uint32_t) const
        size_t byte_size() const
    Kind kind_of(uint32_t label)
    uint32_t name_of(uint32_t label)


cdef extern from "xml/events.hpp" namespace "twigcast::xml" nogil:
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
    cdef cppclass Input:
        const char* data
        size_t size
        const char* encoding
        bool has_type, only_expat
        string_view ids
        int64_t now


cdef extern from "xml/reader.hpp" namespace "twigcast::xml" nogil:
    cdef cppclass ReaderMemory:
        ReaderMemory(const ExpatTable*) except +


cdef extern from "xml/document_builder.hpp" namespace "twigcast::xml" nogil:
    cdef cppclass DocumentBuilder:
        DocumentBuilder(Document&)
    cdef cppclass DocumentReader:
        DocumentReader(const Limits&, DocumentBuilder&, ReaderMemory&)
        Failure read(const Input&)


cdef extern from "xml/qualifier_collector.hpp" namespace "twigcast::xml" nogil:
    Failure find_qualifiers(Limits, const Input&, Document&, ReaderMemory&) except +


cdef extern from "xml/prologue.hpp" namespace "twigcast::xml" nogil:
    cdef enum class Prologue(int):
        plain
        typed
        other
    Prologue prologue_of(const char* data, size_t size, size_t window, bool is_text)


cdef extern from "base/operators.hpp" namespace "twigcast::base" nogil:
    cdef cppclass Comparison:
        pass
    const int COMPARISON_COUNT


cdef extern from "program/expression.hpp" namespace "twigcast::program" nogil:
    cdef cppclass Form:
        pass
    cdef cppclass Occurrence:
        pass
    const int FORM_COUNT
    cdef cppclass Expression:
        Form form
        uint8_t code
        Occurrence occurrence
        uint32_t test
        double number
        string text
        uint32_t children_begin, children_end
    cdef cppclass Expressions:
        vector[Expression] all
        vector[uint32_t] children
        bool asks_for_qualifiers


cdef extern from "program/program.hpp" namespace "twigcast::program" nogil:
    cdef enum class Operation(int):
        step
    const int OPERATION_COUNT
    cdef cppclass NodeTest:
        Kind kind
        bool any_namespace, any_local
        string space, local, name
    cdef cppclass Instruction:
        Operation operation
        bool descendant
        uint32_t test
        Comparison comparison
        uint32_t position
        double number
        string operand
        uint32_t expression
        bool is_version_2
        uint32_t children_begin, children_end
    cdef cppclass Program:
        vector[NodeTest] tests
        vector[Instruction] instructions
        vector[uint32_t] children
        vector[uint32_t] alternatives
        Expressions expressions
        bool settle() except +


cdef extern from "program/program_bytes.hpp" namespace "twigcast::program" nogil:
    cdef cppclass ProgramWriter:
        @staticmethod
        string write(const Program&) except +


cdef extern from "program/tree.hpp" namespace "twigcast::program" nogil:
    cdef cppclass Tree:
        pass


cdef extern from "program/tree_text.hpp" namespace "twigcast::program" nogil:
    cdef cppclass TreeText:
        @staticmethod
        bool read(string_view, Tree&) except +
    bool read_normal_form(string_view, string&) except +


cdef extern from "program/tree_program.hpp" namespace "twigcast::program" nogil:
    cdef cppclass TreeProgram:
        @staticmethod
        bool make(string_view, Program&) except +


cdef extern from "program/evaluation.hpp" namespace "twigcast::program" nogil:
    cdef enum class Verdict(int):
        no
        yes
        undecided
    cdef cppclass LoneEvaluation:
        LoneEvaluation(const Document&, const Program&, int64_t) except +
        Verdict matches() except +
        const char* reason() const


cdef extern from "index/records.hpp" namespace "twigcast::index" nogil:
    cdef cppclass BranchPlan:
        string path
        string predicate
        bool is_probe
        uint32_t above
    cdef cppclass UnitPlan:
        bool needs_check
        vector[BranchPlan] branches
        vector[BranchPlan] denials


cdef extern from "index/subscribers.hpp" namespace "twigcast::index" nogil:
    cdef cppclass Keys:
        uint32_t count
        const char* texts
        const int64_t* ends
        string_view operator[](uint32_t) const
        void prefetch_end(uint32_t) const
        void prefetch(uint32_t) const


cdef extern from "index/tree_plan.hpp" namespace "twigcast::index" nogil:
    cdef cppclass TreePlan:
        @staticmethod
        UnitPlan make(const Tree&) except +


cdef extern from "index/index.hpp" namespace "twigcast::index" nogil:
    cdef cppclass Index:
        const uint64_t generation


cdef extern from "index/index_file.hpp" namespace "twigcast::index" nogil:
    const uint32_t INDEX_FILE_VERSION
    cdef enum class FileTrouble(int):
        none
        not_ours
        other_version
        other_machine
        truncated
        damaged
    struct Section:
        const char* data
        uint64_t size
    cdef cppclass IndexFile:
        IndexFile(Index&) except +
        vector[Section] pieces
        @staticmethod
        HashSecret secret_of(const char*, size_t)


cdef extern from "base/number_buffer.hpp" namespace "twigcast::base" nogil:
    cdef cppclass NumberBuffer:
        const uint32_t* data() const
        size_t size() const
        void shrink(size_t)
        void trim() except +


cdef extern from "match/learning.hpp" namespace "twigcast::match" nogil:
    cdef cppclass Learning:
        pass


cdef extern from "match/document_matcher.hpp" namespace "twigcast::match" nogil:
    cdef cppclass DocumentMatcher:
        pass


cdef extern from "index/destinations.hpp" namespace "twigcast::index" nogil:
    const uint32_t MOST_DESTINATIONS


cdef extern from "match/vectors.hpp" namespace "twigcast::match" nogil:
    cdef cppclass Vectors:
        uint32_t words
        vector[uint32_t] rows
        vector[uint32_t] looked_at


cdef extern from "match/engine.hpp" namespace "twigcast::match" nogil:
    cdef cppclass Batch:
        shared_ptr[Index] index
        vector[int64_t] offsets
        NumberBuffer patterns
        vector[pair[size_t, Failure]] failures
        vector[pair[size_t, uint32_t]] undecided
        bool seeks_destinations
        Vectors vectors
    cdef enum class Update(int):
        done
        duplicate_key
        unknown_key
        unknown_pattern
        bad_plan
    cdef enum class KeyRule(int):
        free
        any
        taken
    struct Statistics "twigcast::match::Engine::Statistics":
        size_t subscriptions, patterns, states, bytes, cached_paths, cached_bytes
    cdef cppclass Engine:
        Engine(const ExpatTable*, const HashSecret&, size_t) except +
        Update add_path(string_view, string_view, uint32_t, KeyRule) except +
        Update add_text(string_view, string_view, uint32_t, KeyRule) except +
        Update add_compound(
            string_view, string_view, string_view, const vector[UnitPlan]&, uint32_t, KeyRule
        ) except +
        Update remove(string_view) except +
        DocumentMatcher* start(Batch&) except +
        void finish(DocumentMatcher*) except +
        void match(DocumentMatcher&, const vector[Input]&, size_t, size_t, const Limits&, Batch&) except +
        bool learn(DocumentMatcher&, Learning&, uint32_t) except +
        DocumentMatcher* start_learning(Batch&) except +
        bool is_awaited()
        void finish_learning(DocumentMatcher*) except +
        void pause() except +
        void resume(bool) except +
        void expand(const Batch&, size_t, size_t, NumberBuffer&, vector[int64_t]&) except +
        void expand(const Batch&, size_t, const uint32_t*, const uint32_t*, NumberBuffer&) except +
        void keep_undecided(const Batch&, size_t, NumberBuffer&) except +
        Keys keys(const Index&) except +
        bool has_repeated_keys(const Index&)
        size_t size()
        bool has(string_view)
        string text_of(string_view) except +
        Keys list(NumberBuffer&) except +
        Statistics statistics() except +
        shared_ptr[Index] copy() except +
        FileTrouble open(const char*, size_t) except +


cdef extern from "xml/skeleton.hpp" namespace "twigcast::xml" nogil:
    struct Skeleton:
        string text, space, local
    cdef cppclass SkeletonBatch:
        vector[int64_t] numbers
        vector[Skeleton] skeletons
        vector[pair[size_t, Failure]] failures
    cdef cppclass SkeletonBuilder:
        SkeletonBuilder(const ExpatTable*, const Limits&, size_t) except +
        void read(const vector[Input]&, size_t, size_t, SkeletonBatch&) except +


cdef class CompiledPattern:
    cdef Program program
    cdef readonly object source


cdef class CompactDocument:
    cdef Document document
    cdef Documents documents
    cdef int find_qualifiers(self) except -1


cdef class Documents:
    cdef vector[Input] inputs
    cdef list kept
    cdef dict encodings
    cdef readonly dict errors
    cdef object limits
    cdef size_t largest
    cdef bool only_expat
    cdef int64_t now
    cdef int add_bytes(self, const char* data, size_t size, owner) except -1
    cdef int prepare(self, data) except -1
    cdef object refusal(self, size_t number, Failure failure)


cdef class Answers:
    cdef Batch batch
    cdef MatchEngine engine
    cdef readonly dict errors
    cdef vector[int64_t] expanded_offsets
    cdef NumberBuffer expanded
    cdef int expand_all(self) except -1
    cdef int add_undecided(self) except -1
    cdef list spell(self, const NumberBuffer& numbers)


cdef class KeyMemory:
    cdef Keys keys
    cdef MatchEngine engine


cdef class KernelView:
    cdef object owner
    cdef const void* data
    cdef int dimensions
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t strides[2]


cdef class MatchEngine:
    cdef Engine* engine
    cdef object mapping
    cdef object __weakref__
