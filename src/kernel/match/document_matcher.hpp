// One thread matches documents: the events of a document go in, its patterns come out.
//
//     element ──► label ──► cached path ──► accepted patterns, probes, groups
//     text, attributes ──► value index ──► probes
//     end of the document ──► units whose probes all hold ──► joined, or asked exactly
//
// Time a document: a look-up for each element, and for each attribute and text where a subscription
// asks for one; the patterns accepted on each distinct path; the probes that hold and the units
// they trigger.  What is new to the cache costs the trie nodes reached, once.
//
// To be asked exactly, a document is built.  As long as documents keep being asked, that is done
// while they are read for matching; else a document is read again.
//
// A document matcher remembers paths up to a number of bytes.  When three quarters of that are full
// it forgets those that no document has met for the longest time.  Where a document alone goes past
// the rest, all paths but the open ones are forgotten within it; its branching patterns are then
// asked exactly, one by one, of the whole document, as they are in one that is too deep for Join.
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "base/number_buffer.hpp"
#include "match/hits.hpp"
#include "match/join.hpp"
#include "match/learning.hpp"
#include "match/resolver.hpp"
#include "match/vectors.hpp"
#include "program/evaluation.hpp"
#include "program/program_bytes.hpp"
#include "program/tree_program.hpp"
#include "xml/document_builder.hpp"
#include "xml/qualifier_collector.hpp"

namespace twigcast::match {

using namespace base;
using namespace xml;
using namespace program;
using namespace index;

class DocumentMatcher : public WithDeclarations {
public:
    explicit DocumentMatcher(const ExpatTable* expat)
        : memory_(expat),
          path_destinations_(paths_),
          join_(paths_, hits_),
          units_(paths_, hits_, join_),
          resolver_(paths_, path_destinations_, hits_, units_) {}

    // Add the patterns that the document matches to `answer`; with `vectors`, the destinations that
    // want it to these, and only patterns that have subscribers without a destination.
    Failure match(const Index& index, size_t cache_limit, const Limits& limits, const Input& input,
                  NumberBuffer& answer, Vectors* vectors) {
        const size_t before = answer.size();
        answer.make_room(index.pattern_count() + size_t{1});
        index_ = &index;
        cache_limit_ = cache_limit;
        answer_ = answer.end();
        seeks_destinations_ = vectors != nullptr;
        const Failure failure = match(limits, input);
        if (cache_size() > cache_limit - cache_limit / 4) forget_oldest();
        report();
        answer.extend_to(hits_.answer_end());
        const bool is_read = failure.trouble == Trouble::none;
        if (!is_read) answer.shrink(before);
        if (vectors != nullptr && is_read) vectors->add(hits_.vector(), hits_.looked_at());
        if (vectors != nullptr && !is_read) vectors->add_nothing();
        return failure;
    }

    // Build some of the label paths that the index knows; false when there are no more, or no room.
    bool learn(const Index& index, size_t cache_limit, Learning& learning, uint32_t some) {
        if (learning.has_begun() && !paths_.is_of(index)) return false;
        index_ = &index;
        cache_limit_ = cache_limit;
        if (learning.has_begun()) {
            paths_.follow(index);
        } else {
            answer_ = nullptr;
            start();
        }
        const bool has_more = learning.go_on(paths_, index, some, cache_limit / 2);
        report();
        return has_more;
    }

    // Tell an index of the label paths that documents had, if they are of this one.
    void tell(const Index& index, KnownPaths& known) const {
        if (paths_.is_of(index)) Learning::tell(paths_, known);
    }

    // The patterns that took too much work on the last document.
    const std::vector<uint32_t>& undecided() const { return undecided_; }

    // The cache after the last document; others may ask while this works.
    size_t path_count() const { return reported_paths_; }
    size_t byte_size() const { return reported_bytes_; }

    // --- a sink of the Reader -------------------------------------------------------------------

    Trouble open_document(size_t size) {
        start();
        build([&](DocumentBuilder& builder) { return builder.open_document(size); });
        follow_names();
        return Trouble::none;
    }

    bool wants_text() const { return index_->needs_text() || builder_.has_value(); }

    // A name's label, or its number in the document that is built.
    uint32_t number_of(Kind kind, std::string_view name) {
        const uint32_t label = paths_.labels.of(kind, name);
        if (!numbers_by_document_) return label;
        const uint32_t number = document_.names.intern(name);
        std::vector<uint32_t>& known = name_labels_[kind == Kind::attribute];
        if (known.size() <= number) known.resize(number + size_t{1});
        known[number] = label;
        return number;
    }
    uint64_t numbering() const { return numbering_; }

    void declare(std::string_view prefix, std::string_view space) {
        if (builder_.has_value()) builder_->declare(prefix, space);
    }

    Trouble open_element(uint32_t name, const Attributes& attributes, uint32_t depth) {
        build([&](DocumentBuilder& builder) {
            return builder.open_element(name, attributes, depth);
        });
        end_run();
        const uint32_t path = enter(label_of(Kind::element, name));
        if (depth >= Join::DEEPEST) units_.be_exact();
        CachedPath& cached = paths_[path];
        const uint32_t parent = open_.back().element;
        const uint32_t element = visit(path, parent);
        const uint32_t edges = (open_.back().edges & (BELOW_ATTRIBUTE | BELOW_TEXT)) | cached.edges;
        const bool wants_value = cached.values != NONE && resolver_.leads_on(path);
        collecting_ += wants_value;
        if (wants_value) resolver_.begin_value(cached, text_.size());
        open_.push_back({path, element, edges, wants_value, text_.size()});
        paths_.open(path);
        if ((edges & (CHILD_ATTRIBUTE | BELOW_ATTRIBUTE)) == 0) return Trouble::none;
        for (const Attribute& attribute : attributes) {
            visit_leaf(enter(label_of(Kind::attribute, attribute.name)), attribute.value);
        }
        return Trouble::none;
    }

    Trouble close_element() {
        build([](DocumentBuilder& builder) { return builder.close_element(); });
        end_run();
        const Open closed = open_.back();
        if (closed.wants_value) {
            resolver_.end_value(closed.path, closed.element, closed.text_begin, text_.size());
            --collecting_;
            bound_queues();
        }
        paths_.close(closed.path);
        open_.pop_back();
        return Trouble::none;
    }

    Trouble add_text(std::string_view piece) {
        build([&](DocumentBuilder& builder) { return builder.add_text(piece); });
        const bool wants_run = (open_.back().edges & (CHILD_TEXT | BELOW_TEXT)) != 0;
        if (wants_run && !in_run_) {
            in_run_ = true;
            run_begin_ = text_.size();
        }
        if (wants_run || collecting_ != 0) text_.append(piece);
        return Trouble::none;
    }

    Trouble add_comment(std::string_view text) {
        build([&](DocumentBuilder& builder) { return builder.add_comment(text); });
        return break_text();
    }
    Trouble add_instruction(std::string_view target, std::string_view text) {
        build([&](DocumentBuilder& builder) { return builder.add_instruction(target, text); });
        return break_text();
    }

private:
    struct Open {
        uint32_t path;
        uint32_t element;
        uint32_t edges;  // to attributes and text, from here or by `//` from above
        bool wants_value;
        size_t text_begin;
    };

    struct KnownProgram {
        Program program;
        Learned learned;
    };

    static constexpr size_t MOST_PROGRAMS = 4096;
    static constexpr size_t LONG_TEXT = size_t{1} << 16;
    static constexpr uint32_t PATIENCE = 8;

    void report() {
        reported_paths_ = paths_.count() - 1;
        reported_bytes_ = cache_size();
    }

    Failure match(const Limits& limits, const Input& input) {
        const Failure failure = Reader<DocumentMatcher>(limits, *this, memory_).read(input);
        if (failure.trouble != Trouble::none) return failure;
        resolver_.flush(text_);
        const std::vector<uint32_t>& asked = units_.find();
        if (!asked.empty()) {
            if (!builder_.has_value()) {
                DocumentBuilder builder(document_);
                const Failure second = DocumentReader(limits, builder, memory_).read(input);
                if (second.trouble != Trouble::none) return second;
            }
            LabelIndex labels(document_);
            for (const uint32_t pattern : asked) {
                if (!ask(limits, input, labels, pattern)) {
                    undecided_.push_back(pattern);
                }
            }
            // Others may have found its destinations since.
            undecided_.erase(std::remove_if(undecided_.begin(), undecided_.end(),
                                            [&](auto each) { return hits_.is_accepted(each); }),
                             undecided_.end());
        }
        patience_ = !asked.empty() ? PATIENCE : patience_ - (patience_ != 0);
        if (index_->dead_patterns() != 0) hits_.drop_dead(*index_);
        return failure;
    }

    // Begin the document; perhaps again, by another reader.
    void start() {
        hits_.start(*index_, answer_, seeks_destinations_);
        if (index_->generation != generation_) {
            generation_ = index_->generation;
            forget_derived();
            programs_.clear();
        }
        paths_.follow(*index_);
        path_destinations_.start(*index_);
        limit_ = cache_limit_;
        if (hits_.epoch() == 1) forget();
        resolver_.start(*index_);
        units_.start(*index_);
        text_.clear();
        undecided_.clear();
        builder_.reset();
        if (patience_ != 0) builder_.emplace(document_);
        collecting_ = 0;
        in_run_ = false;
        open_.clear();
        open_.push_back({PathCache::ROOT, NONE, paths_[PathCache::ROOT].edges, false, 0});
        paths_.close_all();
        paths_.open(PathCache::ROOT);
    }

    // See whether names have other numbers than in the document before.
    void follow_names() {
        const bool by_document = builder_.has_value();
        const uint64_t version = by_document ? document_.numbering() : NEVER;
        if (by_document == numbers_by_document_ && version == document_numbering_ &&
            labels_numbering_ == paths_.labels.numbering()) {
            return;
        }
        numbers_by_document_ = by_document;
        document_numbering_ = version;
        labels_numbering_ = paths_.labels.numbering();
        ++numbering_;
    }

    uint32_t label_of(Kind kind, uint32_t name) const {
        return numbers_by_document_ ? name_labels_[kind == Kind::attribute][name] : name;
    }

    // Let the builder take an event; a document that it cannot hold is not built.
    template <class Event>
    void build(Event event) {
        if (builder_.has_value() && event(*builder_) != Trouble::none) builder_.reset();
    }

    void forget() {
        paths_.forget();
        forget_derived();
    }

    void forget_oldest() {
        paths_.forget_oldest();
        forget_derived();
        if (cache_size() > cache_limit_ - cache_limit_ / 4) forget();
    }

    // Forget what is kept by the numbers of paths.
    void forget_derived() {
        join_.clear();
        path_destinations_.clear();
    }

    size_t cache_size() const {
        return paths_.byte_size() + join_.byte_size() + path_destinations_.byte_size();
    }

    // --- paths ----------------------------------------------------------------------------------

    // The path below the innermost open element by a label.
    uint32_t enter(uint32_t label) {
        const uint32_t known = paths_.find(open_.back().path, label);
        if (known != NONE) return known;
        if (cache_size() > limit_) forget_closed();
        return paths_.add(open_.back().path, label);
    }

    // Forget all paths but those of the open elements.
    void forget_closed() {
        labels_.clear();
        for (const Open& open : open_) labels_.push_back(paths_.origin(open.path).label);
        resolver_.flush(text_);
        units_.forget_paths();
        paths_.clear();
        forget_derived();
        paths_.close_all();
        paths_.open(PathCache::ROOT);
        for (size_t at = 1; at < open_.size(); ++at) {
            open_[at].path = paths_.add(open_[at - 1].path, labels_[at]);
            paths_[open_[at].path].stamp = hits_.epoch();
            paths_.open(open_[at].path);
        }
        limit_ = std::max(limit_, 2 * cache_size());
    }

    // An element of the document stands on the path; its number, where elements are counted.
    uint32_t visit(uint32_t number, uint32_t parent) {
        CachedPath& path = paths_[number];
        if (path.stamp != hits_.epoch()) {
            paths_.refresh(number);
            path.stamp = hits_.epoch();
            path.repeated = false;
            path.last_element = NONE;
            resolver_.add_visit(number);
        } else if (!path.repeated) {
            path.repeated = true;
            resolver_.add_repeat(number);
        }
        if (!index_->needs_elements()) return NONE;
        const uint32_t element = count_of(hits_.elements);
        hits_.elements.push_back({number, parent, path.last_element, count_of(open_)});
        path.last_element = element;
        return element;
    }

    // An attribute or a text node.
    void visit_leaf(uint32_t number, std::string_view value) {
        CachedPath& path = paths_[number];
        if (path.stamp != hits_.epoch()) paths_.refresh(number);
        if (path.is_empty()) {
            path.stamp = hits_.epoch();
            return;
        }
        const uint32_t element = visit(number, open_.back().element);
        if (path.values != NONE && resolver_.leads_on(number)) {
            resolver_.add_value(number, element, value);
        }
        if (resolver_.is_full()) resolver_.flush(text_);
    }

    Trouble break_text() {
        end_run();
        return Trouble::none;
    }

    void end_run() {
        if (!in_run_) return;
        in_run_ = false;
        const uint32_t path = enter(Labels::TEXT);
        visit_leaf(path, std::string_view(text_).substr(run_begin_));
        bound_queues();
    }

    // Neither what waits nor the text it refers to grows without end.
    void bound_queues() {
        const bool unused = collecting_ == 0 && text_.size() > LONG_TEXT;
        if (unused || resolver_.is_full()) resolver_.flush(text_);
        if (unused) text_.clear();
    }

    // The program of a pattern; where none was kept, its text says it.
    bool read_program(uint32_t pattern, Program& program) const {
        const std::string_view kept = index_->program_of(pattern);
        return kept.empty() ? TreeProgram::make(index_->spelling(pattern), program)
                            : ProgramReader::read(kept, program);
    }

    // False where the pattern needs more work than it may cost.
    bool ask(const Limits& limits, const Input& input, LabelIndex& labels, uint32_t pattern) {
        if (hits_.is_accepted(pattern)) return true;
        hits_.look_at(1);
        if (programs_.size() > MOST_PROGRAMS) programs_.clear();
        const auto [entry, is_new] = programs_.try_emplace(pattern);
        if (is_new && !read_program(pattern, entry->second.program)) {
            programs_.erase(entry);
            throw std::runtime_error("the matcher holds a pattern that is damaged");
        }
        KnownProgram& known = entry->second;
        if (known.program.expressions.asks_for_qualifiers && !document_.qualifiers.is_known) {
            find_qualifiers(limits, input, document_, memory_);
        }
        const Verdict verdict =
            Evaluation(document_, known.program, known.learned, labels, input.now).matches();
        if (verdict == Verdict::yes) hits_.accept(pattern);
        return verdict != Verdict::undecided;
    }

    const Index* index_ = nullptr;
    uint64_t generation_ = NEVER;
    size_t cache_limit_ = 0, limit_ = 0;
    uint32_t* answer_ = nullptr;
    bool seeks_destinations_ = false;
    ReaderMemory memory_;
    PathCache paths_;
    PathDestinations path_destinations_;
    Hits hits_;
    Join join_;
    UnitSearch units_;
    Resolver resolver_;
    std::unordered_map<uint32_t, KnownProgram> programs_;
    std::vector<uint32_t> undecided_;
    Document document_;
    std::optional<DocumentBuilder> builder_;  // of the document that is being read, if it is built
    uint32_t patience_ = 0;                   // for how many more documents that nobody asks
    bool numbers_by_document_ = false;
    std::vector<uint32_t> name_labels_[2];  // of elements and attributes, by number in the document
    uint64_t numbering_ = 0, document_numbering_ = NEVER, labels_numbering_ = 0;

    std::vector<Open> open_;
    std::vector<uint32_t> labels_;
    std::string text_;  // of the open elements and the run that want theirs
    size_t run_begin_ = 0;
    uint32_t collecting_ = 0;  // open elements that want their value
    bool in_run_ = false;
    std::atomic<size_t> reported_paths_ = 0, reported_bytes_ = 0;
};

}  // namespace twigcast::match
