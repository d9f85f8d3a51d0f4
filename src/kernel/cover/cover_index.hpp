// A set of patterns, each a few twigs, with both searches of covering.
//
// A pattern is covered when each of its twigs is covered by a twig of the other, so searches find
// twigs and this class counts them.  Linear searches compare with every twig; they are kept for
// measurement, for tests, and for given twigs with more nodes than a walk takes.
//
// Disjunctions that were not split, since there were too many, are not modelled here: patterns with
// them are only possible, and whoever knows what they mean has to look.
#pragma once

#include "cover/covered_walk.hpp"
#include "cover/covering_walk.hpp"
#include "cover/mapper.hpp"
#include "cover/other_postings.hpp"
#include "cover/path_trie.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

// The numbers of the patterns that a search reports.
struct SearchResult {
    std::vector<uint32_t> certain;
    std::vector<uint32_t> possible;
};

class CoverIndex {
public:
    CoverIndex()
        : trie_(terms_, twigs_), others_(terms_, twigs_), covered_walk_(terms_, trie_, twigs_) {}
    CoverIndex(const CoverIndex&) = delete;
    CoverIndex& operator=(const CoverIndex&) = delete;

    Terms& terms() { return terms_; }
    size_t trie_size() const { return trie_.size(); }
    size_t entries() const { return entries_.size(); }

    uint32_t add(std::vector<Twig>& twigs) {
        const uint32_t entry = take(free_entries_, entries_);
        Entry& one = entries_[entry];
        one.is_used = true;
        if (twigs.empty()) ++impossible_;
        for (Twig& twig : twigs) {
            const uint32_t id = take(free_twigs_, twigs_);
            traits_.resize(twigs_.size());
            one.has_choice |= twig.has_choice;
            one.needed &= twig.asked_names;
            one.names |= twig.given_names;
            traits_[id] = {twig.asked_names, 0, entry, is_path(twig), twigs.size() == 1, false};
            twigs_[id].twig = std::move(twig);
            twigs_[id].entry = entry;
            others_.add(id);
            trie_.add(id);
            one.twigs.push_back(id);
        }
        if (one.has_choice) {
            choosing_.push_back(entry);
            for (const uint32_t id : one.twigs) traits_[id].has_choice = true;
        }
        return entry;
    }

    void remove(uint32_t entry) {
        if (entries_[entry].twigs.empty()) --impossible_;
        if (entries_[entry].has_choice) take_out(choosing_, entry);
        for (const uint32_t id : entries_[entry].twigs) {
            trie_.remove(id);
            others_.remove(id);
            twigs_[id] = StoredTwig{};
            free_twigs_.push_back(id);
        }
        entries_[entry] = Entry{};
        free_entries_.push_back(entry);
    }

    // The entries that the twigs cover.
    void covered(const std::vector<Twig>& asking, SearchResult& result) {
        start_asking(asking);
        for (const Twig& twig : asking) {
            candidates_.clear();
            bool is_path = false;
            const auto compare = [&](uint32_t id) { candidates_.push_back({id, false}); };
            if (!twig.asks_others || !others_.find_given(twig, compare)) {
                if (twig.asked.size() == 1) {
                    compare_covered(twig, result);  // nothing to go by
                    continue;
                }
                is_path = covered_walk_.run(twig, [&](uint32_t id, bool has_path) {
                    candidates_.push_back({id, has_path});
                }) && !twig.asks_others;
            }
            for (const Candidate& candidate : candidates_) {
                Traits& traits = traits_[candidate.twig];
                if (traits.seen == round_) continue;
                if ((is_path && candidate.has_path) || maps(twig, twigs_[candidate.twig].twig)) {
                    count_covered(traits, result);
                }
            }
        }
        add_possible(asking, result);
        add_impossible(result);
    }

    // The entries that cover all of the twigs.
    void covering(const std::vector<Twig>& giving, SearchResult& result) {
        ++round_;
        mapper_.forget();
        if (add_all_possible(giving, result)) return;
        for (uint32_t step = 0; step < giving.size(); ++step) {
            const Twig& twig = giving[step];
            if (twig.nodes.size() > MOST_NODES) {
                compare_covering(twig, step, giving.size(), result);
                continue;
            }
            candidates_.clear();
            CoverWalk(terms_, trie_, twig).run([&](uint32_t id, bool is_end) {
                __builtin_prefetch(&traits_[id]);
                candidates_.push_back({id, is_end});
            });
            others_.find_asked(twig, [&](uint32_t id) { candidates_.push_back({id, false}); });
            compared_.clear();
            for (const Candidate& candidate : candidates_) {
                const Traits& traits = traits_[candidate.twig];
                if ((traits.asked_names & ~twig.given_names) != 0) continue;
                if (candidate.has_path && traits.is_path) {
                    report_covering(candidate.twig, step, giving.size(), result);
                } else {
                    __builtin_prefetch(&twigs_[candidate.twig]);
                    compared_.push_back(candidate.twig);
                }
            }
            for (const uint32_t id : compared_) __builtin_prefetch(twigs_[id].twig.asked.data());
            for (const uint32_t id : compared_) {
                if (mapper_.maps(terms_, twigs_[id].twig, twig)) {
                    report_covering(id, step, giving.size(), result);
                }
            }
        }
        if (giving.empty()) add_all(result);
    }

    void linear_covered(const std::vector<Twig>& asking, SearchResult& result) {
        start_asking(asking);
        for (const Twig& twig : asking) compare_covered(twig, result);
        add_possible(asking, result);
        add_impossible(result);
    }

    void linear_covering(const std::vector<Twig>& giving, SearchResult& result) {
        ++round_;
        mapper_.forget();
        if (add_all_possible(giving, result)) return;
        for (uint32_t step = 0; step < giving.size(); ++step) {
            compare_covering(giving[step], step, giving.size(), result);
        }
        if (giving.empty()) add_all(result);
    }

private:
    // What searches look at first, close together.
    struct Traits {
        uint64_t asked_names;
        uint64_t seen;  // the last search that met the twig
        uint32_t entry;
        bool is_path;
        bool is_alone;    // the only twig of its pattern
        bool has_choice;  // or another twig of its pattern
    };
    struct Entry {
        std::vector<uint32_t> twigs;
        uint64_t seen = 0;
        uint64_t needed = ~uint64_t{0};  // names that all twigs ask for, folded
        uint64_t names = 0;              // names that some twig has
        uint32_t count = 0;
        bool is_used = false;
        bool has_choice = false;
    };
    struct Candidate {
        uint32_t twig;
        bool has_path;
    };

    template <class One>
    static uint32_t take(std::vector<uint32_t>& free, std::vector<One>& all) {
        if (free.empty()) {
            all.emplace_back();
            return count_of(all) - 1;
        }
        const uint32_t id = free.back();
        free.pop_back();
        return id;
    }

    // Whether the twig asks for one path and nothing else.
    static bool is_path(const Twig& twig) {
        if (twig.asks_others) return false;
        std::vector<uint8_t> inner(twig.asked.size(), 0);
        size_t paths = 0;
        for (size_t at = twig.asked.size() - 1; at > 0; --at) {
            const AskedNode& node = twig.asked[at];
            inner[node.parent] = 1;
            paths += node.atom_count + (inner[at] || node.atom_count ? 0 : 1);
        }
        return paths == 1;
    }

    bool maps(const Twig& asking, const Twig& giving) {
        return (asking.asked_names & ~giving.given_names) == 0 &&
               mapper_.maps(terms_, asking, giving);
    }

    void start_asking(const std::vector<Twig>& asking) {
        ++round_;
        mapper_.forget();
        asks_more_ = false;
        for (const Twig& twig : asking) asks_more_ |= twig.has_choice;
    }

    uint32_t progress(uint32_t entry) {
        Entry& one = entries_[entry];
        if (one.seen != round_) {
            one.seen = round_;
            one.count = 0;
        }
        return one.count;
    }

    void count_covered(Traits& traits, SearchResult& result) {
        traits.seen = round_;
        if (traits.has_choice) return;
        if (!traits.is_alone) {
            progress(traits.entry);
            Entry& entry = entries_[traits.entry];
            if (++entry.count < entry.twigs.size()) return;
        }
        (asks_more_ ? result.possible : result.certain).push_back(traits.entry);
    }

    // One of a pattern's twigs covers the one at `step`; a pattern must have one at each.
    void report_covering(uint32_t id, uint32_t step, size_t steps, SearchResult& result) {
        const Traits& traits = traits_[id];
        if (traits.is_alone && steps == 1) {
            // A twig stands as asked at one trie node, so it is reported once.
            (traits.has_choice ? result.possible : result.certain).push_back(traits.entry);
        } else if (progress(traits.entry) == step) {
            advance(traits.entry, step, steps, result);
        }
    }

    void advance(uint32_t entry, uint32_t step, size_t steps, SearchResult& result) {
        entries_[entry].count = step + 1;
        if (step + 1 == steps)
            (entries_[entry].has_choice ? result.possible : result.certain).push_back(entry);
    }

    void compare_covering(const Twig& twig, uint32_t step, size_t steps, SearchResult& result) {
        for (const StoredTwig& stored : twigs_) {
            if (stored.entry != NONE && progress(stored.entry) == step &&
                mapper_.maps(terms_, stored.twig, twig)) {
                advance(stored.entry, step, steps, result);
            }
        }
    }

    void compare_covered(const Twig& twig, SearchResult& result) {
        for (uint32_t id = 0; id < twigs_.size(); ++id) {
            if (twigs_[id].entry != NONE && traits_[id].seen != round_ &&
                mapper_.maps(terms_, twig, twigs_[id].twig)) {
                count_covered(traits_[id], result);
            }
        }
    }

    // Of patterns in which disjunctions were left, those that may be covered.
    void add_possible(const std::vector<Twig>& asking, SearchResult& result) {
        uint64_t needed = ~uint64_t{0};
        for (const Twig& twig : asking) needed &= twig.asked_names;
        for (const uint32_t entry : choosing_) {
            if ((needed & ~entries_[entry].names) == 0) result.possible.push_back(entry);
        }
    }

    // If disjunctions were left in what is given, all patterns that may cover it.
    bool add_all_possible(const std::vector<Twig>& giving, SearchResult& result) {
        uint64_t names = 0;
        bool has_choice = false;
        for (const Twig& twig : giving) {
            names |= twig.given_names;
            has_choice |= twig.has_choice;
        }
        for (uint32_t entry = 0; entry < entries_.size() && has_choice; ++entry) {
            const Entry& one = entries_[entry];
            if (one.is_used && (one.needed & ~names) == 0) result.possible.push_back(entry);
        }
        return has_choice;
    }

    // Patterns that no document matches are covered by all.
    void add_impossible(SearchResult& result) {
        for (uint32_t entry = 0; entry < entries_.size() && impossible_ > 0; ++entry) {
            if (entries_[entry].is_used && entries_[entry].twigs.empty()) {
                result.certain.push_back(entry);
            }
        }
    }

    void add_all(SearchResult& result) {
        for (uint32_t entry = 0; entry < entries_.size(); ++entry) {
            if (entries_[entry].is_used) result.certain.push_back(entry);
        }
    }

    Terms terms_;
    std::vector<StoredTwig> twigs_;
    std::vector<Traits> traits_;
    PathTrie trie_;
    OtherPostings others_;
    CoveredWalk covered_walk_;
    Mapper mapper_;
    std::vector<Entry> entries_;
    std::vector<uint32_t> free_twigs_, free_entries_;
    std::vector<uint32_t> choosing_;  // the entries in which disjunctions were left
    std::vector<Candidate> candidates_;
    std::vector<uint32_t> compared_;
    uint64_t round_ = 0;
    bool asks_more_ = false;
    size_t impossible_ = 0;
};

}  // namespace twigcast::cover
