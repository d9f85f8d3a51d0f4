// Which of the many predicates at one trie node a text passes, without asking each.
//
//     equality       one look-up of the text's hash
//     starts-with    one look-up for each length of prefix (up to 8 bytes) that occurs
//     ends-with      the same for suffixes
//     contains       one look-up for each of the parts that the text contains, of all that any
//                    group asks for; `Parts` finds them
//     resembles      one look-up of the hash of the text, folded
//     < <= > >= =    search in trees of intervals
//     !=             asked one by one: nearly all of them pass anyway
//
// A predicate of several comparisons is filed under one of them.  Each candidate is checked
// with the whole predicate.  A *predicate group* holds the predicates at one trie node.
//
// Intervals stand in blocks whose sizes are powers of two; two of a size are merged into one of
// the next, so adding costs a logarithm and a group has at most as many blocks.  A block is sorted
// by lower end, and `most` of its middle element is the highest upper end of all of the block, and
// so on in both halves: all intervals around a number are visited in time proportional to their
// count times a logarithm.
#pragma once

#include <limits>

#include "base/flat_array.hpp"
#include "base/slots.hpp"
#include "index/intervals.hpp"
#include "index/parts.hpp"
#include "index/predicate.hpp"

namespace twigcast::index {

using namespace base;

struct PredicateGroup {
    uint32_t node;        // of the trie
    uint32_t longest;     // text that an equality asks for, in bytes
    uint32_t prefixes;    // bit n: a starts-with is filed under n bytes
    uint32_t suffixes;    // bit n: an ends-with is filed under n bytes
    uint32_t seeks;       // 1: a contains is filed
    uint32_t others;      // a list of probes in `links_` that are asked one by one
    uint32_t blocks;      // a list of blocks of intervals, or NONE
    uint32_t equalities;  // a list of probes in `links_` that ask for equality
    uint32_t resembling;  // a list of probes in `links_` that ask for resemblance
    uint32_t count;       // of predicates

    // Whether its few equalities and intervals are better copied to where they are met.
    bool is_small() const {
        return count <= FEW && (prefixes | suffixes | seeks) == 0 && others == NONE &&
               resembling == NONE;
    }

private:
    static constexpr uint32_t FEW = 64;
};

class ValueIndex {
public:
    Parts parts;

    uint32_t add_group(uint32_t node) {
        return groups_.add({node, 0, 0, 0, 0, NONE, NONE, NONE, NONE, 0});
    }
    const PredicateGroup& group(uint32_t number) const { return groups_[number]; }
    uint32_t group_count() const { return groups_.count(); }

    void add(uint32_t group, uint32_t probe, std::string_view predicate, const HashSecret& secret) {
        ComparisonView equality{}, prefix{}, suffix{}, part{}, like{}, view{};
        Range range;
        ++groups_.edit(group).count;
        bool complete = true;  // the range says all
        for (PredicateReader reader(predicate); reader.next(view);) {
            if (view.is_numeric()) {
                range.narrow(view);
                complete = complete && view.comparison != Comparison::unequal;
                continue;
            }
            complete = false;
            switch (text_comparison(view.comparison)) {
                case TextComparison::equal_text: equality = view; break;
                case TextComparison::starts_with: prefix = view; break;
                case TextComparison::ends_with: suffix = view; break;
                case TextComparison::contains:
                    if (part.text.size() < view.text.size()) part = view;
                    break;
                case TextComparison::resembles: like = view; break;
                case TextComparison::unequal_text: break;  // nearly all texts pass
            }
        }
        if (equality.text.data() != nullptr) {
            PredicateGroup& here = groups_.edit(group);
            here.longest = std::max(here.longest, count_of(equality.text));
            here.equalities = links_.add({probe, here.equalities});
            file(hash_of(equality.text, secret), group, EQUAL, probe, secret);
        } else if (like.text.data() != nullptr) {
            std::string folded;
            fold(like.text, folded);
            groups_.edit(group).resembling = links_.add({probe, groups_[group].resembling});
            file(hash_of(folded, secret), group, LIKE, probe, secret);
        } else if (range.bounded) {
            add_interval(group, {range.low, range.high, range.high, probe, complete});
        } else if (!part.text.empty()) {
            groups_.edit(group).seeks = 1;
            file(parts.intern(part.text, secret), group, PART, probe, secret);
            for (PredicateReader reader(predicate); reader.next(view);) {
                if (view.is_part()) parts.intern(view.text, secret);
            }
        } else if (!prefix.text.empty()) {
            const size_t length = std::min(prefix.text.size(), LONGEST_END);
            groups_.edit(group).prefixes |= 1u << length;
            file(hash_of(first_bytes(prefix.text, length), secret), group, PREFIX, probe, secret);
        } else if (!suffix.text.empty()) {
            const size_t length = std::min(suffix.text.size(), LONGEST_END);
            groups_.edit(group).suffixes |= 1u << length;
            file(hash_of(last_bytes(suffix.text, length), secret), group, SUFFIX, probe, secret);
        } else {
            const uint32_t others = groups_[group].others;
            groups_.edit(group).others = links_.add({probe, others});
        }
    }

    template <class Visit>
    void each_equality(const PredicateGroup& group, Visit visit) const {
        for (uint32_t at = group.equalities; at != NONE; at = links_[at].next)
            visit(links_[at].value);
    }
    // Visit probes with the range they ask for, and whether they ask for nothing else.
    template <class Visit>
    void each_interval(const PredicateGroup& group, Visit visit) const {
        for (uint32_t at = group.blocks; at != NONE; at = blocks_[at].next) {
            const Interval* const first = intervals_.data() + blocks_[at].begin;
            for (const Interval* interval = first; interval < first + blocks_[at].size;
                 ++interval) {
                visit(interval->low, interval->high, interval->probe, interval->complete != 0);
            }
        }
    }

    // Call `visit` with every probe of the group whose range the number is in, and whether there is
    // nothing else to ask, while it wants to go on.
    template <class Visit>
    void search_numbers(uint32_t group, double sought, Visit visit) const {
        search_blocks(groups_[group].blocks, sought, visit);
    }

    // The hashes under which equalities, prefixes and suffixes that fit a text are filed.
    template <class Visit>
    void each_filed_hash(uint32_t number, Value& value, const HashSecret& secret,
                         Visit visit) const {
        const PredicateGroup& group = groups_[number];
        const std::string_view text = value.text;
        if (group.equalities != NONE && text.size() <= group.longest) {
            visit(filed_hash(value.hash(secret), number, EQUAL, secret));
        }
        if (group.resembling != NONE && value.folds()) {
            visit(filed_hash(hash_of(value.folded(), secret), number, LIKE, secret));
        }
        each_length(group.prefixes, text.size(), [&](size_t length) {
            visit(filed_hash(hash_of(first_bytes(text, length), secret), number, PREFIX, secret));
        });
        each_length(group.suffixes, text.size(), [&](size_t length) {
            visit(filed_hash(hash_of(last_bytes(text, length), secret), number, SUFFIX, secret));
        });
    }

    // The hash under which the group's probes that ask for a part are filed.
    uint64_t part_hash(uint32_t part, uint32_t group, const HashSecret& secret) const {
        return filed_hash(part, group, PART, secret);
    }

    // Ask for memory that `each_filed` will look at, further with each stage from 0 to 2.
    void prefetch_filed(uint64_t hash, int stage) const {
        if (stage == 0) return slots_.prefetch(hash);
        const uint32_t head = slots_.guess(hash);
        if (head == NONE) return;
        __builtin_prefetch(stage == 1 ? static_cast<const void*>(&heads_[head])
                                      : &links_[heads_[head].list]);
    }

    // Visit the probes that are filed under a hash.
    template <class Visit>
    void each_filed(uint64_t hash, Visit visit) const {
        const uint32_t head = find(hash);
        if (head != NONE) walk(heads_[head].list, visit);
    }

    // Visit the probes of the group that are filed under nothing that the text has.
    template <class Visit>
    void each_other(uint32_t number, Value& value, Visit visit) const {
        const PredicateGroup& group = groups_[number];
        if (group.resembling != NONE && !value.folds()) walk(group.resembling, visit);
        walk(group.others, visit);
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(groups_);
        visit(heads_);
        visit(links_);
        visit(blocks_);
        visit(intervals_);
        slots_.each_array(visit);
        parts.each_array(visit);
    }

    bool is_sound(uint32_t nodes, uint32_t probes) {
        for (uint32_t at = 0; at < groups_.count(); ++at) {
            const PredicateGroup& group = groups_[at];
            if (group.node >= nodes || (group.prefixes | group.suffixes) >= 1u << 9) return false;
            if (group.others != NONE && group.others >= links_.size()) return false;
            if (group.equalities != NONE && group.equalities >= links_.size()) return false;
            if (group.resembling != NONE && group.resembling >= links_.size()) return false;
            if (group.blocks != NONE && group.blocks >= blocks_.size()) return false;
        }
        for (uint32_t at = 0; at < heads_.count(); ++at) {
            if (heads_[at].list >= links_.size()) return false;
        }
        for (uint32_t at = 0; at < links_.count(); ++at) {
            const Link& link = links_[at];
            if (link.value >= probes || (link.next != NONE && link.next >= at)) return false;
        }
        for (uint32_t at = 0; at < blocks_.count(); ++at) {
            const Block& block = blocks_[at];
            if (block.next != NONE && block.next >= at) return false;
            if (block.begin > intervals_.size() || block.size > intervals_.size() - block.begin) {
                return false;
            }
        }
        for (uint32_t at = 0; at < intervals_.count(); ++at) {
            if (intervals_[at].probe >= probes) return false;
        }
        return slots_.is_sound(heads_.size()) && parts.is_sound();
    }

private:
    static constexpr size_t LONGEST_END = 8;
    static constexpr uint64_t EQUAL = 0, PREFIX = 1, PART = 2, SUFFIX = 3, LIKE = 4;

    struct Head {
        uint64_t hash;
        uint32_t list;  // of probes, in links_
    };
    struct Block {
        uint32_t begin, size;
        uint32_t next;  // an older, larger one
    };
    struct Interval {
        double low, high, most;
        uint32_t probe;
        uint32_t complete;
    };

    static uint64_t filed_hash(uint64_t text_hash, uint32_t group, uint64_t sort,
                               const HashSecret& secret) {
        return hash_of(text_hash, uint64_t{group} << 3 | sort, secret);
    }

    uint32_t find(uint64_t hash) const {
        return slots_.find(hash, [&](uint32_t head) { return heads_[head].hash == hash; });
    }

    void file(uint64_t text_hash, uint32_t group, uint64_t sort, uint32_t probe,
              const HashSecret& secret) {
        const uint64_t hash = filed_hash(text_hash, group, sort, secret);
        uint32_t head = find(hash);
        if (head == NONE) {
            head = heads_.add({hash, NONE});
            slots_.add(hash, head, [&](uint32_t other) { return heads_[other].hash; });
        }
        heads_.edit(head).list = links_.add({probe, heads_[head].list});
    }

    // The lengths that bits stand for, up to the longest that fits.
    template <class Visit>
    static void each_length(uint32_t bits, size_t longest, Visit visit) {
        for (; bits != 0; bits &= bits - 1) {
            const size_t length = static_cast<size_t>(__builtin_ctz(bits));
            if (length > longest) return;
            visit(length);
        }
    }
    static std::string_view first_bytes(std::string_view text, size_t length) {
        return text.substr(0, length);
    }
    static std::string_view last_bytes(std::string_view text, size_t length) {
        return text.substr(text.size() - length);
    }

    template <class Visit>
    void walk(uint32_t at, Visit& visit) const {
        for (; at != NONE; at = links_[at].next) visit(links_[at].value);
    }

    // --- intervals --------------------------------------------------------------------------

    void add_interval(uint32_t group, const Interval& interval) {
        std::vector<Interval> merged{interval};
        uint32_t block = groups_[group].blocks;
        while (block != NONE && blocks_[block].size == merged.size()) {
            const uint32_t begin = blocks_[block].begin;
            const Interval* const old = intervals_.data() + begin;
            std::vector<Interval> both(merged.size() * 2);
            std::merge(
                merged.begin(), merged.end(), old, old + merged.size(), both.begin(),
                [](const Interval& one, const Interval& other) { return one.low < other.low; });
            free_[__builtin_ctzll(merged.size())].push_back(begin);
            merged.swap(both);
            block = blocks_[block].next;
        }
        set_most(merged.data(), 0, merged.size());
        const uint32_t size = count_of(merged);
        std::vector<uint32_t>& free = free_[__builtin_ctzll(merged.size())];
        uint32_t begin;
        if (free.empty()) {
            begin = static_cast<uint32_t>(intervals_.append(merged.data(), size));
        } else {
            begin = free.back();
            free.pop_back();
            for (uint32_t at = 0; at < size; ++at) intervals_.edit(begin + at) = merged[at];
        }
        groups_.edit(group).blocks = blocks_.add({begin, size, block});
    }

    template <class Visit>
    void search_blocks(uint32_t at, double sought, Visit& visit) const {
        for (; at != NONE; at = blocks_[at].next) {
            const Block& block = blocks_[at];
            const bool goes_on =
                search_intervals(intervals_.data() + block.begin, 0, block.size, sought,
                                 [&](const Interval& interval) {
                                     return visit(interval.probe, interval.complete != 0);
                                 });
            if (!goes_on) return;
        }
    }

    FlatArray<PredicateGroup> groups_;
    FlatArray<Head> heads_;
    FlatArray<Link> links_;
    FlatArray<Block> blocks_;
    FlatArray<Interval> intervals_;
    Slots slots_;
    std::vector<uint32_t> free_[32];  // ranges of intervals_ left by merging, by log2 of size
};

}  // namespace twigcast::index
