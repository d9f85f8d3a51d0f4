// An index that any number of threads use at once, each with a document matcher of its own.
//
// A document is matched while the gate is held for reading, an update is made while it is held for
// writing: a document sees the subscriptions before or after an update.  Document matchers are lent
// to whoever matches and come back warm.  No function here needs the interpreter lock.
//
// An answer refers to the index that gave it.  When an index is rebuilt without its dead, the
// old one stays as long as somebody holds an answer from it, unchanged from then on.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

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
    std::vector<uint64_t> versions;  // of the index, when each document met it
    std::vector<std::pair<size_t, Failure>> failures;
    // Documents and patterns of which it was not found out whether they match.
    std::vector<std::pair<size_t, uint32_t>> undecided;
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

    Update add_path(std::string_view key, std::string_view path, KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        const uint32_t pattern = index_->intern_path(path);
        return pattern == NONE ? Update::bad_plan : subscribe(key, pattern, rule);
    }

    // Add a subscription to a pattern in canonical text, if somebody else has it or it is a plain
    // tree, whose text is its program too.
    Update add_text(std::string_view key, std::string_view text, KeyRule rule) {
        const Update update = add_known(key, text, rule);
        Tree tree;
        if (update != Update::unknown_pattern || !TreeText::read(text, tree) ||
            tree.root().text != text) {
            return update;
        }
        const UnitPlan plan = TreePlan::make(tree);
        return TreePlan::is_path(plan) ? add_path(key, plan.branches[0].path, rule)
                                       : add_compound(key, text, {}, {plan}, rule);
    }

    // Add a subscription to a pattern that somebody else has.
    Update add_known(std::string_view key, std::string_view text, KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        const uint32_t pattern = index_->find_compound(text);
        return pattern == NONE ? Update::unknown_pattern : subscribe(key, pattern, rule);
    }

    Update add_compound(std::string_view key, std::string_view text, std::string_view program,
                        const std::vector<UnitPlan>& plans, KeyRule rule) {
        const Writing writing(gate_);
        if (const Update update = check(key, rule); update != Update::done) return update;
        uint32_t pattern = index_->find_compound(text);
        if (pattern == NONE) pattern = index_->add_compound(text, program, plans);
        return pattern == NONE ? Update::bad_plan : subscribe(key, pattern, rule);
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
            std::unique_lock lock(matchers_mutex_);
            swept_.wait(lock, [&] { return !sweeping_; });
            ++running_;
        }
        const Reading reading(gate_);
        batch.index = index_;
        const std::lock_guard lock(matchers_mutex_);
        if (idle_.empty()) {
            matchers_.push_back(std::make_unique<DocumentMatcher>());
            return matchers_.back().get();
        }
        DocumentMatcher* const matcher = idle_.back();
        idle_.pop_back();
        return matcher;
    }

    void finish(DocumentMatcher* matcher) {
        bool is_last;
        {
            const std::lock_guard lock(matchers_mutex_);
            idle_.push_back(matcher);
            is_last = --running_ == 0 && sweeping_;
        }
        if (!is_last) return;
        {
            const Writing writing(gate_);
            rebuild_if_worth();
        }
        const std::lock_guard lock(matchers_mutex_);
        sweeping_ = false;
        swept_.notify_all();
    }

    void match(DocumentMatcher& matcher, const std::vector<Input>& inputs, size_t begin, size_t end,
               const Limits& limits, Batch& batch) {
        for (size_t at = begin; at < end; ++at) match(matcher, inputs[at], limits, batch);
    }

    // The numbers of the subscribers that a document of a batch matched.
    void expand(const Batch& batch, size_t document, std::vector<uint32_t>& numbers) {
        const uint32_t* const patterns = batch.patterns.data();
        expand(batch, document, patterns + batch.offsets[document],
               patterns + batch.offsets[document + 1], numbers);
    }

    // The numbers of the subscribers of patterns, when a document of a batch was matched.  Their
    // lists lead all over memory, so several are followed at a time.
    void expand(const Batch& batch, size_t document, const uint32_t* pattern,
                const uint32_t* const last, std::vector<uint32_t>& numbers) {
        constexpr size_t MOST = 16;
        const Reading reading(gate_);
        const Index& index = *batch.index;
        const uint64_t version = batch.versions[document];
        uint32_t followed[MOST];
        size_t count = 0;
        while (pattern != last || count != 0) {
            for (; count < MOST && pattern != last; ++pattern) {
                followed[count] = index.pattern(*pattern).subscribers;
                if (followed[count] != NONE) index.subscribers.prefetch(followed[count++]);
            }
            for (size_t at = 0; at < count;) {
                const Subscriber& subscriber = index.subscribers[followed[at]];
                if (subscriber.is_there(version)) numbers.push_back(followed[at]);
                if (subscriber.next == NONE) {
                    followed[at] = followed[--count];
                } else {
                    followed[at] = subscriber.next;
                    index.subscribers.prefetch(followed[at++]);
                }
            }
        }
    }

    // The keys of subscribers, one behind the other, and where each ends.
    void spell(const Index& index, const std::vector<uint32_t>& numbers, std::string& keys,
               std::vector<int64_t>& ends) {
        constexpr size_t AHEAD = 16;
        const Reading reading(gate_);
        const Subscribers& all = index.subscribers;
        for (size_t at = 0; at < numbers.size(); ++at) {
            if (numbers[at] >= all.count()) return;  // asked for by a number that is none
            if (at + AHEAD < numbers.size()) all.prefetch(numbers[at + AHEAD]);
            if (at + AHEAD / 2 < numbers.size()) {
                __builtin_prefetch(all.key_of(numbers[at + AHEAD / 2]).data());
            }
            keys += all.key_of(numbers[at]);
            ends.push_back(static_cast<int64_t>(keys.size()));
        }
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

    void list_keys(std::vector<std::string>& keys) {
        const Reading reading(gate_);
        for (uint32_t at = 0; at < index_->subscribers.count(); ++at) {
            if (index_->subscribers[at].removed == NEVER_REMOVED) {
                keys.emplace_back(index_->subscribers.key_of(at));
            }
        }
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
    // In a child only the thread that forked is left: all document matchers are idle, and nobody
    // waits.
    void resume(bool is_child) {
        if (is_child) {
            running_ = 0;
            sweeping_ = false;
            new (&swept_) std::condition_variable();
            idle_.clear();
            for (const std::unique_ptr<DocumentMatcher>& matcher : matchers_)
                idle_.push_back(matcher.get());
        }
        matchers_mutex_.unlock();
        if (is_child) {
            new (&gate_) Gate();
        } else {
            gate_.stop_writing();
        }
    }

    // --- files --------------------------------------------------------------------------------

    // A copy without the dead, to be saved.  Others wait only while memory is copied.
    std::shared_ptr<Index> copy() {
        std::shared_ptr<Index> copy = std::make_shared<Index>(secret_, 0);
        uint64_t version;
        {
            const Reading reading(gate_);
            version = index_->version();
            copy->copy_arrays(*index_);
        }
        copy->settle(version);
        if (!copy->has_dead()) return copy;
        std::shared_ptr<Index> living = std::make_shared<Index>(secret_, 0);
        living->take_living(*copy);
        return living;
    }

    // Take over the index in a file; before anything else is done with this engine.
    FileTrouble open(const char* data, size_t size) { return IndexFile::open(data, size, *index_); }

private:
    static constexpr uint32_t OVERDUE = 4;

    Update check(std::string_view key, KeyRule rule) const {
        if (rule == KeyRule::any || index_->has(key) == (rule == KeyRule::taken)) {
            return Update::done;
        }
        return rule == KeyRule::free ? Update::duplicate_key : Update::unknown_key;
    }

    Update subscribe(std::string_view key, uint32_t pattern, KeyRule rule) {
        if (rule != KeyRule::free) {
            const uint32_t former = index_->subscribers.find(key, secret_);
            if (former != NONE && index_->subscribers[former].pattern == pattern) {
                return Update::done;
            }
            index_->unsubscribe(key);
        }
        index_->subscribe(key, pattern);
        rebuild_if_worth();
        return Update::done;
    }

    // A batch refers to one index, so those that run are waited for.  The next update will see to
    // it; where there are always some, new ones have to wait until the last of them has swept.
    void rebuild_if_worth() {
        if (!index_->is_worth_rebuilding()) return;
        {
            const std::lock_guard lock(matchers_mutex_);
            if (running_ != 0) {
                sweeping_ = sweeping_ || index_->is_worth_rebuilding(OVERDUE);
                return;
            }
        }
        std::shared_ptr<Index> fresh = std::make_shared<Index>(secret_, index_->generation + 1);
        fresh->take_living(*index_);
        index_ = std::move(fresh);
    }

    void match(DocumentMatcher& matcher, const Input& input, const Limits& limits, Batch& batch) {
        const size_t number = batch.versions.size();
        Failure failure;
        if (input.data != nullptr) {
            const Reading reading(gate_);
            batch.versions.push_back(index_->version());
            failure = matcher.match(*index_, cache_limit_, expat_, limits, input, batch.patterns);
            for (const uint32_t pattern : matcher.undecided()) {
                batch.undecided.emplace_back(number, pattern);
            }
        } else {
            batch.versions.push_back(0);  // refused before it came here
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
    std::condition_variable swept_;
    uint32_t running_ = 0;   // batches
    bool sweeping_ = false;  // no batch may begin until the last that runs has swept
    std::vector<std::unique_ptr<DocumentMatcher>> matchers_;
    std::vector<DocumentMatcher*> idle_;
};

}  // namespace twigcast::match
