// An index that any number of threads use at once, each with a document matcher of its own.
//
// A document is matched while the gate is held for reading, an update is made while it is held for
// writing: a document sees the subscriptions before or after an update.  Document matchers are lent
// to whoever matches and come back warm.  No function here needs the interpreter lock.
//
// A batch and its answers refer to one index.  When an index is rebuilt without its dead, the old
// one stays as long as a batch runs on it or somebody holds an answer from it, unchanged from then
// on.  So the documents that such a batch has left see none of the updates after the rebuilding: as
// if they had been matched before.  Nobody waits for a batch to end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/number_stream.hpp"
#include "index/index_file.hpp"
#include "index/tree_plan.hpp"
#include "match/document_matcher.hpp"
#include "match/gate.hpp"

namespace twigcast::match {

using namespace base;
using namespace xml;
using namespace program;
using namespace index;

// The answers to a batch of documents.
struct Batch {
    std::shared_ptr<Index> index;
    std::vector<int64_t> offsets{0};  // of each document's patterns in `patterns`, and the end
    NumberBuffer patterns;
    std::vector<Moment> moments;  // when each document met the index
    std::vector<std::pair<size_t, Failure>> failures;
    // Documents and patterns of which it was not found out whether they match.
    std::vector<std::pair<size_t, uint32_t>> undecided;
    // The destinations, where these are sought; the patterns then have subscribers without one.
    bool seeks_destinations = false;
    Vectors vectors;
};

// Takes only the numbers of subscribers without a destination.
struct WithoutDestination {
    const Destinations& destinations;
    NumberBuffer& numbers;

    void add(uint32_t number) {
        if (destinations.of_subscriber(number) == NONE) numbers.add(number);
    }
    void append(const uint32_t* first, const uint32_t* last) {
        std::for_each(first, last, [&](uint32_t number) { add(number); });
    }
};

enum class Update : int { done, duplicate_key, unknown_key, unknown_pattern, bad_plan };

// What the key of an added subscription must be; what a taken key had before is replaced.
enum class KeyRule : int { free, any, taken };

class Engine {
public:
    Engine(const ExpatTable* expat, const HashSecret& secret, size_t cache_limit)
        : expat_(expat),
          secret_(secret),
          cache_limit_(cache_limit),
          index_(std::make_shared<Index>(secret, 0)) {}

    // --- updates ------------------------------------------------------------------------------

    Update add_path(std::string_view key, std::string_view path, uint32_t destination,
                    KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        const uint32_t pattern = index_->intern_path(path);
        return pattern == NONE ? Update::bad_plan : subscribe(key, pattern, destination, rule);
    }

    // Add a subscription to a pattern in canonical text, if somebody else has it or it is a plain
    // tree, whose text is its program too.
    Update add_text(std::string_view key, std::string_view text, uint32_t destination,
                    KeyRule rule) {
        const Update update = add_known(key, text, destination, rule);
        Tree tree;
        if (update != Update::unknown_pattern || !TreeText::read(text, tree) ||
            tree.root().text != text) {
            return update;
        }
        const UnitPlan plan = TreePlan::make(tree);
        return TreePlan::is_path(plan) ? add_path(key, plan.branches[0].path, destination, rule)
                                       : add_compound(key, text, {}, {plan}, destination, rule);
    }

    // Add a subscription to a pattern that somebody else has.
    Update add_known(std::string_view key, std::string_view text, uint32_t destination,
                     KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        const uint32_t pattern = index_->find_compound(text);
        return pattern == NONE ? Update::unknown_pattern
                               : subscribe(key, pattern, destination, rule);
    }

    Update add_compound(std::string_view key, std::string_view text, std::string_view program,
                        const std::vector<UnitPlan>& plans, uint32_t destination, KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        uint32_t pattern = index_->find_compound(text);
        if (pattern == NONE) pattern = index_->add_compound(text, program, plans);
        return pattern == NONE ? Update::bad_plan : subscribe(key, pattern, destination, rule);
    }

    Update remove(std::string_view key) {
        const Writing writing(gate_);
        if (!index_->unsubscribe(key)) return Update::unknown_key;
        rebuild_if_worth();
        return Update::done;
    }

    // --- matching -----------------------------------------------------------------------------

    // A batch begins with `start` and ends with `finish`; between them documents are matched, all
    // at once or some at a time.
    DocumentMatcher* start(Batch& batch) {
        {
            // The one that learns is warmer than a new one, and comes back in some milliseconds.
            std::unique_lock lock(matchers_mutex_);
            if (idle_.empty() && is_learning_) {
                is_awaited_ = true;
                returned_.wait(lock, [&] { return !is_learning_; });
            }
        }
        const Reading reading(gate_);
        batch.index = index_;
        const std::lock_guard lock(matchers_mutex_);
        if (idle_.empty()) {
            matchers_.push_back(std::make_unique<DocumentMatcher>(expat_));
            return matchers_.back().get();
        }
        std::iter_swap(warmest(), idle_.end() - 1);
        DocumentMatcher* const matcher = idle_.back();
        idle_.pop_back();
        return matcher;
    }

    void finish(DocumentMatcher* matcher) {
        const std::lock_guard lock(matchers_mutex_);
        idle_.push_back(matcher);
    }

    void match(DocumentMatcher& matcher, const std::vector<Input>& inputs, size_t begin, size_t end,
               const Limits& limits, Batch& batch) {
        for (size_t at = begin; at < end; ++at) match(matcher, inputs[at], limits, batch);
    }

    // The label paths that a file told of are built between `start_learning` and `finish_learning`,
    // some at a time.
    DocumentMatcher* start_learning(Batch& batch) {
        DocumentMatcher* const matcher = start(batch);
        const std::lock_guard lock(matchers_mutex_);
        is_learning_ = true;
        is_awaited_ = matchers_.size() > idle_.size() + 1;  // documents were quicker
        return matcher;
    }
    // False when there are no more; `is_awaited` when documents have come.
    bool learn(DocumentMatcher& matcher, Learning& learning, uint32_t some) {
        const Reading reading(gate_);
        return matcher.learn(*index_, cache_limit_, learning, some);
    }
    bool is_awaited() {
        const std::lock_guard lock(matchers_mutex_);
        return is_awaited_;
    }
    void finish_learning(DocumentMatcher* matcher) {
        finish(matcher);
        const std::lock_guard lock(matchers_mutex_);
        is_learning_ = is_awaited_ = false;
        returned_.notify_all();
    }

    // The numbers of the subscribers that some documents of a batch matched, and where those of
    // each document end.
    void expand(const Batch& batch, size_t begin, size_t end, NumberBuffer& numbers,
                std::vector<int64_t>& ends) {
        const uint32_t* const patterns = batch.patterns.data();
        size_t room = 0;
        for (size_t document = begin; document < end; ++document) {
            const Reading reading(gate_);
            const uint32_t* pattern = patterns + batch.offsets[document];
            const uint32_t* const last = patterns + batch.offsets[document + 1];
            for (; pattern != last; ++pattern) {
                const uint32_t later = last - pattern > AHEAD ? pattern[AHEAD] : *pattern;
                __builtin_prefetch(&batch.index->pattern(later));
                room += batch.index->pattern(*pattern).living;
            }
        }
        numbers.make_room(room);
        NumberStream stream(numbers);
        for (size_t document = begin; document < end; ++document) {
            const uint32_t* const first = patterns + batch.offsets[document];
            const uint32_t* const last = patterns + batch.offsets[document + 1];
            if (batch.seeks_destinations) {
                WithoutDestination named{batch.index->destinations, numbers};
                expand(batch, document, first, last, named);
            } else if (room < STREAMED) {
                expand(batch, document, first, last, numbers);
            } else {
                expand(batch, document, first, last, stream);
            }
            ends.push_back(static_cast<int64_t>(numbers.size() + stream.waiting()));
        }
        stream.finish();
    }

    // The numbers of the subscribers of patterns, when a document of a batch was matched.  Their
    // arrays lie all over memory, which is asked for before it is used.
    template <class Numbers>
    void expand(const Batch& batch, size_t document, const uint32_t* pattern,
                const uint32_t* const last, Numbers& numbers) {
        const Reading reading(gate_);
        const Index& index = *batch.index;
        for (; pattern != last; ++pattern) {
            // An array can be asked for only when it is known where it begins.
            if (last - pattern > 2 * AHEAD) __builtin_prefetch(&index.pattern(pattern[2 * AHEAD]));
            if (last - pattern > AHEAD) index.subscribers.prefetch(index.pattern(pattern[AHEAD]));
            index.subscribers.name(index.pattern(*pattern), batch.moments[document], numbers);
        }
    }

    // Leave out the subscribers whose destination a document of a batch has found.
    void keep_undecided(const Batch& batch, size_t document, NumberBuffer& numbers) {
        const Reading reading(gate_);
        const uint32_t* const row = batch.vectors.rows.data() + document * batch.vectors.words;
        uint32_t* const first = numbers.end() - numbers.size();
        numbers.extend_to(std::remove_if(first, numbers.end(), [&](uint32_t number) {
            const uint32_t destination = batch.index->destinations.of_subscriber(number);
            return destination != NONE && (row[destination / 32] >> destination % 32 & 1) != 0;
        }));
    }

    // The keys by the numbers of the subscribers.
    Keys keys(const Index& index) {
        const Reading reading(gate_);
        return index.subscribers.keys();
    }

    bool has_repeated_keys(const Index& index) {
        const Reading reading(gate_);
        return index.subscribers.has_repeated_keys();
    }

    // --- questions ----------------------------------------------------------------------------

    size_t size() {
        const Reading reading(gate_);
        return index_->living();
    }

    bool has(std::string_view key) {
        const Reading reading(gate_);
        return index_->has(key);
    }

    // The canonical text of a subscription; empty if there is none of that key.
    std::string text_of(std::string_view key) {
        const Reading reading(gate_);
        const uint32_t number = index_->subscribers.find(key, index_->secret);
        return number == NONE ? std::string()
                              : index_->spelling(index_->subscribers[number].pattern);
    }

    // The numbers of all subscriptions, and the keys.
    Keys list(NumberBuffer& numbers) {
        const Reading reading(gate_);
        numbers.make_room(index_->living());
        index_->subscribers.each_living([&](uint32_t each) { numbers.add(each); });
        return index_->subscribers.keys();
    }

    struct Statistics {
        size_t subscriptions, patterns, states, bytes, cached_paths, cached_bytes;
    };

    Statistics statistics() {
        const Reading reading(gate_);
        Statistics result{index_->living(),
                          index_->pattern_count() - index_->dead_patterns(),
                          index_->trie.count() - 1,
                          index_->byte_size(),
                          0,
                          0};
        const std::lock_guard lock(matchers_mutex_);
        for (const std::unique_ptr<DocumentMatcher>& matcher : matchers_) {
            result.cached_paths += matcher->path_count();
            result.cached_bytes += matcher->byte_size();
        }
        return result;
    }

    // --- forks --------------------------------------------------------------------------------

    // Let nobody in until `resume`, so that a child process does not inherit a document half read.
    void pause() {
        gate_.start_writing();
        matchers_mutex_.lock();
    }
    // In a child only the thread that forked is left, and nobody waits.  What other threads were
    // lent stays away; this one may be within a batch itself, if a signal handler forks.
    void resume(bool is_child) {
        if (is_child) {
            new (&matchers_mutex_) std::mutex();
            new (&returned_) std::condition_variable();
            is_learning_ = is_awaited_ = false;
            new (&gate_) Gate();
        } else {
            matchers_mutex_.unlock();
            gate_.stop_writing();
        }
    }

    // --- files --------------------------------------------------------------------------------

    // A copy without the dead, to be saved.  Others wait only while memory is copied.
    std::shared_ptr<Index> copy() {
        std::shared_ptr<Index> copy = std::make_shared<Index>(secret_, 0);
        {
            const Reading reading(gate_);
            copy->copy(*index_);
            const std::lock_guard lock(matchers_mutex_);
            if (!idle_.empty() && (*warmest())->path_count() > copy->known_paths.count()) {
                (*warmest())->tell(*index_, copy->known_paths);
            }
        }
        if (copy->has_dead()) {
            std::shared_ptr<Index> living = std::make_shared<Index>(secret_, 0);
            living->take_living(*copy);
            living->known_paths.take(copy->known_paths, copy->tests, living->tests, secret_);
            copy = std::move(living);
        }
        copy->pack();
        return copy;
    }

    // Take over the index in a file; before anything else is done with this engine.
    FileTrouble open(const char* data, size_t size) { return IndexFile::open(data, size, *index_); }

private:
    static constexpr size_t STREAMED = size_t{1} << 20;  // numbers; fewer stay in the caches
    static constexpr ptrdiff_t AHEAD = 16;               // patterns whose memory is asked for

    // Of the document matchers that are idle, the one that knows the most.
    std::vector<DocumentMatcher*>::iterator warmest() {
        return std::max_element(idle_.begin(), idle_.end(), [](const auto* one, const auto* other) {
            return one->path_count() < other->path_count();
        });
    }

    Update check(std::string_view key, KeyRule rule) const {
        if (rule == KeyRule::any || index_->has(key) == (rule == KeyRule::taken)) {
            return Update::done;
        }
        return rule == KeyRule::free ? Update::duplicate_key : Update::unknown_key;
    }

    Update subscribe(std::string_view key, uint32_t pattern, uint32_t destination, KeyRule rule) {
        if (rule != KeyRule::free) {
            const uint32_t former = index_->subscribers.find(key, secret_);
            if (former != NONE && index_->subscribers[former].pattern == pattern &&
                index_->destinations.of_subscriber(former) == destination) {
                return Update::done;
            }
            index_->unsubscribe(key);
        }
        index_->subscribe(key, pattern, destination);
        rebuild_if_worth();
        return Update::done;
    }

    void rebuild_if_worth() {
        if (!index_->is_worth_rebuilding()) return;
        std::shared_ptr<Index> fresh = std::make_shared<Index>(secret_, index_->generation + 1);
        fresh->take_living(*index_);
        index_ = std::move(fresh);
    }

    void match(DocumentMatcher& matcher, const Input& input, const Limits& limits, Batch& batch) {
        const size_t number = batch.moments.size();
        Failure failure;
        if (input.data != nullptr) {
            const Reading reading(gate_);
            const Index& index = *batch.index;
            batch.moments.push_back(index.now());
            failure = matcher.match(index, cache_limit_, limits, input, batch.patterns,
                                    batch.seeks_destinations ? &batch.vectors : nullptr);
            for (const uint32_t pattern : matcher.undecided()) {
                batch.undecided.emplace_back(number, pattern);
            }
        } else {
            batch.moments.emplace_back();  // refused before it came here
            if (batch.seeks_destinations) batch.vectors.add_nothing();
        }
        batch.offsets.push_back(static_cast<int64_t>(batch.patterns.size()));
        if (failure.trouble != Trouble::none) batch.failures.emplace_back(number, failure);
    }

    const ExpatTable* const expat_;
    const HashSecret secret_;
    const size_t cache_limit_;
    Gate gate_;
    std::shared_ptr<Index> index_;
    std::mutex matchers_mutex_;
    std::condition_variable returned_;  // the document matcher that learns
    bool is_learning_ = false, is_awaited_ = false;
    std::vector<std::unique_ptr<DocumentMatcher>> matchers_;
    std::vector<DocumentMatcher*> idle_;
};

}  // namespace twigcast::match
