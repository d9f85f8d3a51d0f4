// What one document has shown: which patterns it matches, which probes hold and where.
//
// Where destinations are sought, a pattern counts as accepted when all its destinations are found,
// whether by this pattern or by others: whoever asks before looking at a pattern skips all that
// could add nothing.
//
// Everything is marked with a number of the document, so that next to nothing need be cleared
// between documents, and a pattern or probe counts once however often it is met.
#pragma once

#include "index/index.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

struct Element {
    uint32_t path;
    uint32_t parent;     // an element, or NONE
    uint32_t same_path;  // the one before it on the same path, or NONE
    uint32_t depth;
};

// Where a probe holds: on all elements of a path, or on one element.
struct Hit {
    uint32_t probe;
    uint32_t holder;  // twice the number of a path, or of an element and one more
    uint32_t next;

    bool is_element() const { return (holder & 1) != 0; }
    uint32_t where() const { return holder >> 1; }
};

// A set of probes: a bit each, so that the sets of one document stay near the processor.
class ProbeSet {
public:
    void resize(size_t size) { words_.resize(size / 64 + 1); }
    bool has(uint32_t probe) const { return (words_[probe / 64] >> probe % 64 & 1) != 0; }
    void add(uint32_t probe) { words_[probe / 64] |= uint64_t{1} << probe % 64; }

    // Take out all, which are those of the hits.
    void clear(const std::vector<Hit>& hits) {
        if (hits.size() * 8 > words_.size()) {
            std::fill(words_.begin(), words_.end(), 0);
        } else {
            for (const Hit& hit : hits) words_[hit.probe / 64] = 0;
        }
    }

private:
    std::vector<uint64_t> words_;
};

class Hits {
public:
    // Patterns are put where `answer` leads, which has room for all of them and one more; where
    // destinations are sought, only those that have subscribers to be named.
    void start(const Index& index, uint32_t* answer, bool seeks_destinations) {
        const bool are_any = index.destinations.words() != 0;
        sought_ = seeks_destinations && are_any ? &index.destinations : nullptr;
        vector_.assign(index.destinations.words(), 0);
        looked_at_ = 0;
        if (++epoch_ == 0) epoch_ = 1;
        if (++mark_ == 128) {
            std::fill(pattern_marks_.begin(), pattern_marks_.end(), 0);
            std::fill(watch_marks_.begin(), watch_marks_.end(), 0);
            mark_ = 1;
        }
        answer_ = answer_end_ = answer;
        pattern_marks_.resize(index.pattern_count(), 0);
        held_.clear(hits_);
        if (hits_.capacity() > MOST_HITS / 4) hits_ = {};
        hits_.clear();
        held_.resize(index.probe_count());
        probe_hits_.resize(index.probe_count());
        watch_marks_.resize(index.watch_count(), 0);
        if (elements.capacity() > MOST_HITS / 4) elements = {};
        elements.clear();
    }

    // A number of the document that no other has had for a long time, and never 0.
    uint32_t epoch() const { return epoch_; }

    // --- patterns -------------------------------------------------------------------------------

    void accept(uint32_t pattern) {
        if (seeks_destinations()) {
            find(sought_->of_pattern(pattern));
            if (!is_named(pattern)) return;
        }
        *answer_end_ = pattern;
        answer_end_ += pattern_marks_[pattern] != mark_;
        pattern_marks_[pattern] = mark_;
    }
    void accept_all(const uint32_t* first, const uint32_t* last) {
        if (seeks_destinations()) {
            std::for_each(first, last, [&](uint32_t each) { accept(each); });
            return;
        }
        uint32_t* answer = answer_end_;
        uint8_t* const marks = pattern_marks_.data();
        const uint8_t mark = mark_;
        for (; first != last; ++first) {
            const uint32_t pattern = *first;
            *answer = pattern;
            answer += marks[pattern] != mark;
            marks[pattern] = mark;
        }
        answer_end_ = answer;
    }
    bool is_accepted(uint32_t pattern) const {
        return pattern_marks_[pattern] == mark_ ||
               (seeks_destinations() && has_all(sought_->of_pattern(pattern)));
    }

    void drop_dead(const Index& index) {
        answer_end_ = std::remove_if(answer_, answer_end_, [&](uint32_t pattern) {
            return index.pattern(pattern).living == 0;
        });
    }

    uint32_t* answer_end() const { return answer_end_; }

    // --- destinations ---------------------------------------------------------------------------

    bool seeks_destinations() const { return sought_ != nullptr; }
    const std::vector<uint32_t>& vector() const { return vector_; }

    // Whether a pattern has subscribers to be named.
    bool is_named(uint32_t pattern) const { return sought_->of_pattern(pattern)[0] != 0; }

    // Add the destinations of a vector; that somebody is to be named is never among them.
    void find(const uint32_t* vector) {
        ++looked_at_;
        for (size_t at = 1; at < vector_.size(); ++at) vector_[at] |= vector[at];
    }
    // Whether no destination of a vector is missing, among those that somebody still has.
    bool has_all(const uint32_t* vector) const {
        const uint32_t* const all = sought_->all();
        uint32_t missing = 0;
        for (size_t at = 0; at < vector_.size(); ++at) {
            missing |= vector[at] & all[at] & ~vector_[at];
        }
        return missing == 0;
    }
    bool is_complete() const { return seeks_destinations() && has_all(sought_->all()); }

    // How many paths, values and patterns the document was looked at for.
    uint32_t looked_at() const { return looked_at_; }
    void look_at(size_t more) { looked_at_ += static_cast<uint32_t>(more); }

    // --- probes ---------------------------------------------------------------------------------

    // The probe holds there; whether that is news of this document.  Where else it holds is kept
    // only if it is to be `joined`, and only while there is room.
    bool hold(uint32_t probe, uint32_t where, bool is_element, bool joined) {
        const bool is_news = !held_.has(probe);
        uint32_t next = NONE;
        if (is_news) {
            held_.add(probe);
        } else {
            if (!joined || is_full()) return false;
            next = probe_hits_[probe];
        }
        probe_hits_[probe] = count_of(hits_);
        Hit& hit = hits_.emplace_back();
        hit.probe = probe;
        hit.holder = where << 1 | is_element;
        hit.next = next;
        return is_news;
    }
    bool holds(uint32_t probe) const { return held_.has(probe); }
    // Whether not all hits were kept, so that probes cannot be joined.
    bool is_full() const { return hits_.size() > MOST_HITS; }
    uint32_t first_hit(uint32_t probe) const { return probe_hits_[probe]; }
    const Hit& hit(uint32_t number) const { return hits_[number]; }

    // --- branching points -----------------------------------------------------------------------

    void watch(uint32_t watch) {
        const bool again = watch_marks_[watch] >> 1 == mark_;
        watch_marks_[watch] = static_cast<uint8_t>(mark_ << 1 | again);
    }
    // Whether exactly one element of the document stands at the branching point; asked only where
    // one does.
    bool is_single(uint32_t watch) const { return (watch_marks_[watch] & 1) == 0; }

    std::vector<Element> elements;

private:
    static constexpr size_t MOST_HITS = size_t{1} << 22;

    const Destinations* sought_ = nullptr;  // those of the index; null where patterns are wanted
    std::vector<uint32_t> vector_;          // destinations
    uint32_t looked_at_ = 0;
    uint32_t epoch_ = 0;
    uint32_t* answer_ = nullptr;
    uint32_t* answer_end_ = nullptr;
    // A byte a pattern, to stay within the processor's caches; wiped every 127 documents.
    uint8_t mark_ = 0;
    std::vector<uint8_t> pattern_marks_;
    std::vector<uint8_t> watch_marks_;  // twice the mark, and one more if met again
    ProbeSet held_;
    std::vector<uint32_t> probe_hits_;  // the last hit of each, where it is held
    std::vector<Hit> hits_;
};

}  // namespace twigcast::match
