// Where documents go: for each pattern the destinations of its subscribers, as a vector of bits.
//
//     subscription ──► its destination, or none         in the file; all else is made of this
//     pattern      ──► ▯▮▯▮▯…   the destinations of its subscribers
//     trie node    ──► ▯▮▮▮▯…   those of all patterns with a probe there
//     all          ──► ▯▮▮▮▮…   those of all patterns
//
// A vector is a few words of 32 bits, as many as the highest destination so far needs.  A word in
// front says whether there are subscribers without a destination, who are to be named: that bit is
// never found, so nothing that leads to them is skipped.  While no subscription has a destination,
// there are no vectors at all.  How many subscribers of a pattern share a destination is
// counted, so that the vector of a pattern is exact after every update.  The vector of a trie node
// may keep destinations of patterns that have gone, until the index is rebuilt; whoever looks at it
// takes only what `all` has too.
//
// `version` counts the changes of these vectors: what is made of them is good for one version.
//
// Cost of an update: O(1) for a pair of pattern and destination that is there already; else the
// probes of the pattern.  Memory: a vector for each pattern and each trie node with a probe, and
// some 30 bytes for each pair.
#pragma once

#include "base/flat_array.hpp"
#include "base/number_table.hpp"

namespace twigcast::index {

using namespace base;

constexpr uint32_t MOST_DESTINATIONS = 1024;

// A subscription without a destination, in a vector; destinations are counted from the next word.
constexpr uint32_t TO_BE_NAMED = 0;
constexpr uint32_t FIRST_DESTINATION = 32;

// Vectors of one length, by number; one that was never written to is empty.
class VectorTable {
public:
    const uint32_t* at(uint32_t number, uint32_t words) const {
        const size_t begin = size_t{number} * words;
        return begin < bits_.size() ? bits_.data() + begin : NOTHING;
    }

    void set(uint32_t number, uint32_t words, uint32_t bit, bool is_in) {
        const size_t begin = size_t{number} * words;
        if (begin >= bits_.size()) bits_.resize(begin + words);
        uint32_t& word = bits_[begin + bit / 32];
        const uint32_t mask = uint32_t{1} << bit % 32;
        word = is_in ? word | mask : word & ~mask;
    }

    // Make each vector longer.
    void widen(uint32_t words, uint32_t wider) {
        std::vector<uint32_t> bits(words == 0 ? 0 : bits_.size() / words * wider);
        for (size_t at = 0; at < bits_.size(); ++at)
            bits[at / words * wider + at % words] = bits_[at];
        bits_.swap(bits);
    }

    size_t byte_size() const { return bits_.capacity() * sizeof(uint32_t); }

private:
    static constexpr uint32_t NOTHING[(FIRST_DESTINATION + MOST_DESTINATIONS) / 32] = {};

    std::vector<uint32_t> bits_;
};

class Destinations {
public:
    // How long all vectors are; 0 where no subscription has a destination.
    uint32_t words() const { return words_; }
    uint64_t version() const { return version_; }

    const uint32_t* of_pattern(uint32_t pattern) const { return patterns_.at(pattern, words_); }
    // Of a trie node, by the number of its extra.
    const uint32_t* of_extra(uint32_t extra) const { return extras_.at(extra, words_); }
    const uint32_t* all() const { return all_.at(0, words_); }

    uint32_t of_subscriber(uint32_t number) const {
        return number < subscribers_.size() ? subscribers_[number] : NONE;
    }

    // The bit of a subscriber.
    uint32_t bit_of(uint32_t subscriber) const {
        const uint32_t destination = of_subscriber(subscriber);
        return destination == NONE ? TO_BE_NAMED : FIRST_DESTINATION + destination;
    }

    // Note the destination of a new subscriber.
    void set(uint32_t subscriber, uint32_t destination) {
        subscribers_.extend(subscriber - subscribers_.size(), NONE);
        subscribers_.add(destination);
    }

    // Count a subscriber of a pattern; whether the bit is new to the pattern.
    bool add(uint32_t pattern, uint32_t bit) {
        const uint64_t pair = pair_of(pattern, bit);
        if (counts_.find(pair) != NONE) {
            ++counts_.edit(pair);
            return false;
        }
        make_room(bit);
        counts_.add(pair, 1);
        patterns_.set(pattern, words_, bit, true);
        if (patterns_of_[bit]++ == 0) all_.set(0, words_, bit, true);
        ++version_;
        return true;
    }

    void remove(uint32_t pattern, uint32_t bit) {
        if (words_ == 0) return;
        const uint64_t pair = pair_of(pattern, bit);
        if (--counts_.edit(pair) != 0) return;
        counts_.remove(pair);
        patterns_.set(pattern, words_, bit, false);
        if (--patterns_of_[bit] == 0) all_.set(0, words_, bit, false);
        ++version_;
    }

    // A probe at the trie node leads to the bit.
    void lead(uint32_t extra, uint32_t bit) { extras_.set(extra, words_, bit, true); }

    template <class Visit>
    void each_array(Visit visit) {
        visit(subscribers_);
    }
    // Of what is not in those arrays.
    size_t byte_size() const {
        return words_ == 0 ? 0 : patterns_.byte_size() + extras_.byte_size() + counts_.byte_size();
    }

    // Whether some subscription has, or had, a destination.
    bool are_any() const { return !subscribers_.empty(); }

    bool is_sound(uint32_t subscribers) const {
        for (uint32_t at = 0; at < subscribers_.size(); ++at) {
            if (subscribers_[at] != NONE && subscribers_[at] >= MOST_DESTINATIONS) return false;
        }
        return subscribers_.size() <= subscribers;
    }

private:
    void make_room(uint32_t bit) {
        const uint32_t wider = bit / 32 + 1;
        if (wider <= words_) return;
        for (VectorTable* const table : {&patterns_, &extras_, &all_}) table->widen(words_, wider);
        words_ = wider;
        patterns_of_.resize(size_t{wider} * 32);
    }

    FlatArray<uint32_t> subscribers_;    // their destinations, as far as somebody has one
    NumberTable counts_;                 // of the subscribers, by pattern and bit
    std::vector<uint32_t> patterns_of_;  // how many, by bit
    VectorTable patterns_, extras_, all_;
    uint32_t words_ = 0;
    uint64_t version_ = 0;
};

}  // namespace twigcast::index
