// Which of the many predicates at one place a text passes, without asking each.
//
//     equality       one look-up of the text's hash
//     starts-with    one look-up for each length of prefix (up to 8 bytes) that occurs
//     contains       one look-up at each place of the text, of the next 4 bytes (or fewer, for
//                    each shorter length that occurs); what is sought is filed under the 4 bytes
//                    of it that the fewest others are filed under
//     < <= > >= =    search in trees of intervals
//     !=             asked one by one: nearly all of them pass anyway
//
// A predicate of several comparisons is filed under one of them.  What is found is checked with
// the whole predicate.  A *place* is a node of the trie that has predicates.
//
// Intervals stand in blocks whose sizes are powers of two; two of a size are merged into one of
// the next, so adding costs a logarithm and a place has at most as many blocks.  A block is sorted
// by lower end, and `most` of its middle element is the highest upper end of all of the block, and
// so on in both halves: all intervals around a number are found in time proportional to their
// count times a logarithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "_flat.hpp"
#include "_predicate.hpp"

namespace twigcast {

// Of intervals sorted by `low`: the middle one's `most` becomes the highest end of all, and so on
// in both halves.
template <class Interval>
double set_most(Interval* all, std::size_t begin, std::size_t end) {
    if (begin == end) return -std::numeric_limits<double>::infinity();
    const std::size_t middle = begin + (end - begin) / 2;
    const double below = set_most(all, begin, middle);
    const double above = set_most(all, middle + 1, end);
    return all[middle].most = std::max({all[middle].high, below, above});
}

// Visit the intervals that hold the number.
template <class Interval, class Visit>
void search_intervals(const Interval* all, std::size_t begin, std::size_t end, double sought,
                      const Visit& visit) {
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        const Interval& interval = all[middle];
        if (interval.most < sought) return;
        search_intervals(all, begin, middle, sought, visit);
        if (interval.low > sought) return;
        if (interval.high >= sought) visit(interval);
        begin = middle + 1;
    }
}

struct Place {
    std::uint32_t node;      // of the trie
    std::uint32_t longest;   // text that an equality asks for, in bytes
    std::uint32_t prefixes;  // bit n: a starts-with is filed under n bytes
    std::uint32_t grams;     // bit n: a contains is filed under n bytes
    std::uint32_t others;    // a list of probes in `links_` that are asked one by one
    std::uint32_t blocks;    // a list of blocks of intervals, or NONE
    std::uint32_t equalities;  // a list of probes in `links_` that ask for equality
    std::uint32_t count;       // of predicates

    // Whether its few equalities and intervals are better copied to where they are met.
    bool is_small() const {
        return count <= FEW && prefixes == 0 && grams == 0 && others == NONE;
    }

private:
    static constexpr std::uint32_t FEW = 64;
};

// The lists that the search in one text has walked, so that a text full of the same few letters
// costs no more than others.
class Walked {
public:
    // Whether it was not yet walked.
    bool add(std::uint32_t list) {
        if (list >= marks_.size()) marks_.resize(list + 1);
        if (marks_[list]) return false;
        marks_[list] = true;
        lists_.push_back(list);
        return true;
    }
    void clear() {
        for (const std::uint32_t list : lists_) marks_[list] = false;
        lists_.clear();
    }

private:
    std::vector<bool> marks_;
    std::vector<std::uint32_t> lists_;
};

class ValueIndex {
public:
    std::uint32_t add_place(std::uint32_t node) {
        return places_.add({node, 0, 0, 0, NONE, NONE, NONE, 0});
    }
    const Place& place(std::uint32_t number) const { return places_[number]; }
    std::uint32_t place_count() const { return places_.count(); }

    void add(std::uint32_t place, std::uint32_t probe, std::string_view predicate,
             const HashSecret& secret) {
        ComparisonView equality{}, prefix{}, part{}, view{};
        Range range;
        ++places_.edit(place).count;
        bool complete = true;  // the range says all
        for (PredicateReader reader(predicate); reader.next(view);) {
            if (view.comparison == Comparison::equal_text) equality = view;
            if (view.comparison == Comparison::starts_with) prefix = view;
            if (view.comparison == Comparison::contains) part = view;
            if (view.is_numeric()) range.narrow(view);
            complete = complete && view.is_numeric() && view.comparison != Comparison::unequal;
        }
        if (equality.text.data() != nullptr) {
            Place& here = places_.edit(place);
            here.longest = std::max(here.longest, static_cast<std::uint32_t>(equality.text.size()));
            here.equalities = links_.add({probe, here.equalities});
            file(hash_of(equality.text, secret), place, EQUAL, probe, secret);
        } else if (range.bounded) {
            add_interval(place, {range.low, range.high, range.high, probe, complete});
        } else if (!prefix.text.empty()) {
            const std::size_t length = std::min(prefix.text.size(), LONGEST_PREFIX);
            places_.edit(place).prefixes |= 1u << length;
            file(hash_of(prefix.text.substr(0, length), secret), place, PREFIX, probe, secret);
        } else if (!part.text.empty()) {
            const std::size_t length = std::min(part.text.size(), LONGEST_GRAM);
            places_.edit(place).grams |= 1u << length;
            file(rarest_gram(part.text, length, place, secret), place, GRAM, probe, secret);
        } else {
            const std::uint32_t others = places_[place].others;
            places_.edit(place).others = links_.add({probe, others});
        }
    }

    template <class Visit>
    void each_equality(const Place& place, Visit visit) const {
        for (std::uint32_t at = place.equalities; at != NONE; at = links_[at].next) visit(links_[at].value);
    }
    // Visit probes with the range they ask for, and whether they ask for nothing else.
    template <class Visit>
    void each_interval(const Place& place, Visit visit) const {
        for (std::uint32_t at = place.blocks; at != NONE; at = blocks_[at].next) {
            const Interval* const first = intervals_.data() + blocks_[at].begin;
            for (const Interval* interval = first; interval < first + blocks_[at].size; ++interval) {
                visit(interval->low, interval->high, interval->probe, interval->complete != 0);
            }
        }
    }

    // Call `found` with every probe at the place whose range the number is in, and whether there is
    // nothing else to ask.
    template <class Found>
    void search_numbers(std::uint32_t place, double sought, Found found) const {
        search_blocks(places_[place].blocks, sought, found);
    }

    // Ask for memory that `search_texts` will look at, further with each stage from 0 to 2.
    void prefetch_texts(std::uint32_t place, Value& value, const HashSecret& secret, int stage) const {
        each_filed_hash(place, value, secret, [&](std::uint64_t hash) {
            if (stage == 0) return slots_.prefetch(hash);
            const std::uint32_t head = slots_.guess(hash);
            if (head == NONE) return;
            __builtin_prefetch(stage == 1 ? static_cast<const void*>(&heads_[head])
                                          : &links_[heads_[head].list]);
        });
    }

    // Call `found` with every other probe at the place that may hold, some of them more than once.
    template <class Found>
    void search_texts(std::uint32_t number, Value& value, const HashSecret& secret, Walked& walked,
                      Found found) const {
        const Place& place = places_[number];
        const std::string_view text = value.text;
        each_filed_hash(number, value, secret, [&](std::uint64_t hash) {
            const std::uint32_t head = find(hash);
            if (head != NONE) walk(heads_[head].list, found);
        });
        for (std::uint32_t left = place.grams; left != 0; left &= left - 1) {
            const std::size_t length = static_cast<std::size_t>(__builtin_ctz(left));
            search_grams(number, text, length, secret, walked, found);
        }
        walked.clear();
        walk(place.others, found);
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(places_);
        visit(heads_);
        visit(links_);
        visit(blocks_);
        visit(intervals_);
        slots_.each_array(visit);
    }

    bool is_sound(std::uint32_t nodes, std::uint32_t probes) {
        for (std::uint32_t at = 0; at < places_.count(); ++at) {
            const Place& place = places_[at];
            if (place.node >= nodes || (place.prefixes | place.grams) >= 1u << 9) return false;
            if (place.others != NONE && place.others >= links_.size()) return false;
            if (place.equalities != NONE && place.equalities >= links_.size()) return false;
            if (place.blocks != NONE && place.blocks >= blocks_.size()) return false;
        }
        for (std::uint32_t at = 0; at < heads_.count(); ++at) {
            if (heads_[at].list >= links_.size()) return false;
        }
        for (std::uint32_t at = 0; at < links_.count(); ++at) {
            const Link& link = links_[at];
            if (link.value >= probes || (link.next != NONE && link.next >= at)) return false;
        }
        for (std::uint32_t at = 0; at < blocks_.count(); ++at) {
            const Block& block = blocks_[at];
            if (block.next != NONE && block.next >= at) return false;
            if (block.begin > intervals_.size() || block.size > intervals_.size() - block.begin) {
                return false;
            }
        }
        for (std::uint32_t at = 0; at < intervals_.count(); ++at) {
            if (intervals_[at].probe >= probes) return false;
        }
        return slots_.is_sound(heads_.size());
    }

private:
    static constexpr std::size_t LONGEST_PREFIX = 8;
    static constexpr std::size_t LONGEST_GRAM = 4;
    static constexpr std::uint64_t EQUAL = 0, PREFIX = 1, GRAM = 2;

    struct Head {
        std::uint64_t hash;
        std::uint32_t list;  // of probes, in links_
        std::uint32_t count;
    };
    struct Block {
        std::uint32_t begin, size;
        std::uint32_t next;  // an older, larger one
    };
    struct Interval {
        double low, high, most;
        std::uint32_t probe;
        std::uint32_t complete;
    };

    static std::uint64_t filed_hash(std::uint64_t text_hash, std::uint32_t place, std::uint64_t sort,
                                    const HashSecret& secret) {
        return hash_of(text_hash, std::uint64_t{place} << 2 | sort, secret);
    }

    std::uint32_t find(std::uint64_t hash) const {
        return slots_.find(hash, [&](std::uint32_t head) { return heads_[head].hash == hash; });
    }

    void file(std::uint64_t text_hash, std::uint32_t place, std::uint64_t sort, std::uint32_t probe,
              const HashSecret& secret) {
        const std::uint64_t hash = filed_hash(text_hash, place, sort, secret);
        std::uint32_t head = find(hash);
        if (head == NONE) {
            head = heads_.add({hash, NONE, 0});
            slots_.add(hash, head, [&](std::uint32_t other) { return heads_[other].hash; });
        }
        heads_.edit(head).list = links_.add({probe, heads_[head].list});
        ++heads_.edit(head).count;
    }

    // The hash of that piece of a text under which the fewest are filed, among the first ones.
    std::uint64_t rarest_gram(std::string_view text, std::size_t length, std::uint32_t place,
                              const HashSecret& secret) const {
        constexpr std::size_t MOST_TRIED = 64;
        std::uint64_t rarest = 0;
        std::uint32_t fewest = NONE;
        for (std::size_t at = 0; at + length <= text.size() && at < MOST_TRIED && fewest != 0; ++at) {
            const std::uint64_t gram = hash_of(text.substr(at, length), secret);
            const std::uint32_t head = find(filed_hash(gram, place, GRAM, secret));
            const std::uint32_t count = head == NONE ? 0 : heads_[head].count;
            if (count >= fewest) continue;
            fewest = count;
            rarest = gram;
        }
        return rarest;
    }

    // The hashes under which equalities and prefixes that fit a text are filed.
    template <class Visit>
    void each_filed_hash(std::uint32_t number, Value& value, const HashSecret& secret, Visit visit) const {
        const Place& place = places_[number];
        const std::string_view text = value.text;
        if (place.equalities != NONE && text.size() <= place.longest) {
            visit(filed_hash(value.hash(secret), number, EQUAL, secret));
        }
        for (std::uint32_t left = place.prefixes; left != 0; left &= left - 1) {
            const std::size_t length = static_cast<std::size_t>(__builtin_ctz(left));
            if (length > text.size()) break;
            visit(filed_hash(hash_of(text.substr(0, length), secret), number, PREFIX, secret));
        }
    }

    // In blocks, so that memory is on its way before it is looked at.
    template <class Found>
    void search_grams(std::uint32_t place, std::string_view text, std::size_t length,
                      const HashSecret& secret, Walked& walked, Found& found) const {
        constexpr std::size_t BLOCK = 16;
        if (text.size() < length) return;
        const std::size_t count = text.size() - length + 1;
        std::uint64_t hashes[BLOCK];
        for (std::size_t begin = 0; begin < count; begin += BLOCK) {
            const std::size_t size = std::min(BLOCK, count - begin);
            for (std::size_t at = 0; at < size; ++at) {
                const std::uint64_t gram = hash_of(text.substr(begin + at, length), secret);
                hashes[at] = filed_hash(gram, place, GRAM, secret);
                slots_.prefetch(hashes[at]);
            }
            for (std::size_t at = 0; at < size; ++at) {
                const std::uint32_t guess = slots_.guess(hashes[at]);
                if (guess != NONE) __builtin_prefetch(&heads_[guess]);
            }
            for (std::size_t at = 0; at < size; ++at) {
                const std::uint32_t head = find(hashes[at]);
                if (head != NONE && walked.add(head)) walk(heads_[head].list, found);
            }
        }
    }

    template <class Found>
    void walk(std::uint32_t at, Found& found) const {
        for (; at != NONE; at = links_[at].next) found(links_[at].value);
    }

    // --- intervals --------------------------------------------------------------------------

    void add_interval(std::uint32_t place, const Interval& interval) {
        std::vector<Interval> merged{interval};
        std::uint32_t block = places_[place].blocks;
        while (block != NONE && blocks_[block].size == merged.size()) {
            const std::uint32_t begin = blocks_[block].begin;
            const Interval* const old = intervals_.data() + begin;
            std::vector<Interval> both(merged.size() * 2);
            std::merge(merged.begin(), merged.end(), old, old + merged.size(), both.begin(),
                       [](const Interval& one, const Interval& other) { return one.low < other.low; });
            free_[__builtin_ctzll(merged.size())].push_back(begin);
            merged.swap(both);
            block = blocks_[block].next;
        }
        set_most(merged.data(), 0, merged.size());
        const std::uint32_t size = static_cast<std::uint32_t>(merged.size());
        std::vector<std::uint32_t>& free = free_[__builtin_ctzll(merged.size())];
        std::uint32_t begin;
        if (free.empty()) {
            begin = static_cast<std::uint32_t>(intervals_.append(merged.data(), size));
        } else {
            begin = free.back();
            free.pop_back();
            for (std::uint32_t at = 0; at < size; ++at) intervals_.edit(begin + at) = merged[at];
        }
        places_.edit(place).blocks = blocks_.add({begin, size, block});
    }

    template <class Found>
    void search_blocks(std::uint32_t at, double sought, Found& found) const {
        for (; at != NONE; at = blocks_[at].next) {
            const Block& block = blocks_[at];
            search_intervals(intervals_.data() + block.begin, 0, block.size, sought,
                             [&](const Interval& interval) { found(interval.probe, interval.complete != 0); });
        }
    }

    FlatArray<Place> places_;
    FlatArray<Head> heads_;
    FlatArray<Link> links_;
    FlatArray<Block> blocks_;
    FlatArray<Interval> intervals_;
    Slots slots_;
    std::vector<std::uint32_t> free_[32];  // ranges of intervals_ left by merging, by log2 of size
};

}  // namespace twigcast
