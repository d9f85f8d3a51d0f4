// Which parts the values of a document contain, however they are nested, in one pass over its text.
//
// Values are stretches of one text: <a>xx<b>yy</b>zz</a> has xxyyzz and, within it, yy.  A value
// contains a part if the part stands in the text between the value's ends.  Values end in order, so
// it is enough to know where each part stood last before a value ends: at or behind its beginning
// or not.  The parts that were met are kept in a list, the one that ended last first; a value
// looks at those that end behind its beginning.
//
// Of a part that stands several times between two beginnings of values, the first time counts: each
// value with one of the others has that one too.
//
// Cost: the text once, and for each value the parts that it contains.
#pragma once

#include <limits>

#include "index/parts.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

// A part that was met in the text.
struct MetPart {
    uint32_t part;
    uint32_t older = NONE, newer = NONE;
    uint32_t settled = NONE;    // a group that need not hear of it again
    size_t begin = 0, end = 0;  // where it stood last before the last value ended
    size_t latest = 0;          // where it begins last
};

class PartSearch {
public:
    // Of another text.
    void clear() {
        for (const MetPart& met : met_) numbers_[met.part] = NONE;
        met_.clear();
        found_.clear();
        next_ = 0;
        begins_.clear();
        stretches_.clear();
        open_ = 0;
        newest_ = NONE;
    }

    // A value begins there, and ends there; the next may lie within it or behind it.
    void begin_value(size_t at) {
        if (open_++ == 0 && (stretches_.empty() || stretches_.back().end != at)) {
            stretches_.push_back({at, OPEN});
        }
        stretches_.back().end = OPEN;
        if (begins_.empty() || begins_.back() != at) begins_.push_back(at);
    }
    void end_value(size_t at) {
        if (--open_ == 0) stretches_.back().end = at;
    }

    // Read what values have of the text so far and was not yet read.
    void read(const Parts& parts, const HashSecret& secret, std::string_view text) {
        if (stretches_.empty()) return;
        numbers_.resize(parts.count(), NONE);
        for (Stretch& stretch : stretches_) {
            const std::string_view known = text.substr(0, std::min(stretch.end, text.size()));
            parts.search(known, stretch.begin, secret,
                         [&](uint32_t part, size_t gram) { meet(parts, part, gram, known); });
            // A part that goes on behind the end of what is known will be met again.
            const size_t again = std::min<size_t>(parts.longest(), known.size() - stretch.begin);
            stretch.begin = known.size() - again;
        }
        if (open_ == 0) {
            stretches_.clear();
        } else {
            stretches_.erase(stretches_.begin(), stretches_.end() - 1);
        }
        found_.erase(found_.begin(), found_.begin() + static_cast<ptrdiff_t>(next_));
        next_ = 0;
        std::sort(found_.begin(), found_.end(),
                  [](const Found& one, const Found& two) { return one.end < two.end; });
    }

    // Visit the parts in a value of the text that was read, each with a number.  Values must come
    // in the order of their ends.
    template <class Visit>
    void each_in(size_t begin, size_t end, Visit visit) {
        for (; next_ < found_.size() && found_[next_].end <= end; ++next_) put_first(found_[next_]);
        for (uint32_t at = newest_; at != NONE && met_[at].end > begin; at = met_[at].older) {
            if (met_[at].begin >= begin) visit(met_[at], at);
        }
    }

    // Whether the value that `each_in` was last asked about, which begins there, has the part.
    bool has(uint32_t part, size_t begin) const {
        const uint32_t number = numbers_[part];
        return number != NONE && met_[number].end > begin && met_[number].begin >= begin;
    }

    uint32_t part(uint32_t met) const { return met_[met].part; }
    void settle(uint32_t met, uint32_t group) { met_[met].settled = group; }

    // Nothing is to come for values that began before.
    bool is_over() const { return open_ == 0; }

private:
    static constexpr size_t OPEN = std::numeric_limits<size_t>::max();

    // Text that belongs to values.
    struct Stretch {
        size_t begin, end;
    };
    struct Found {
        size_t begin, end;
        uint32_t number;
    };

    // The gram of the part stands there.
    void meet(const Parts& parts, uint32_t number, size_t gram, std::string_view text) {
        const Part& part = parts[number];
        if (gram < part.gram) return;
        const size_t begin = gram - part.gram;
        uint32_t& met = numbers_[number];
        if (met != NONE && met_[met].latest >= std::min(begin, last_begin(gram))) return;
        if (!parts.is_at(part, text, begin)) return;
        if (met == NONE) {
            met = count_of(met_);
            met_.push_back({number});
        }
        met_[met].latest = begin;
        found_.push_back({begin, begin + part.length, met});
    }

    // Where the last value begins that begins there or before.
    size_t last_begin(size_t at) const {
        const auto behind = std::upper_bound(begins_.begin(), begins_.end(), at);
        return behind == begins_.begin() ? 0 : behind[-1];
    }

    void put_first(const Found& found) {
        MetPart& met = met_[found.number];
        if (met.end != 0) take_out(met);
        met.begin = found.begin;
        met.end = found.end;
        met.older = newest_;
        met.newer = NONE;
        if (newest_ != NONE) met_[newest_].newer = found.number;
        newest_ = found.number;
    }
    void take_out(const MetPart& met) {
        (met.newer == NONE ? newest_ : met_[met.newer].older) = met.older;
        if (met.older != NONE) met_[met.older].newer = met.newer;
    }

    std::vector<uint32_t> numbers_;  // in met_, by part
    std::vector<MetPart> met_;
    std::vector<Found> found_;  // sorted by end
    size_t next_ = 0;           // of those found
    std::vector<size_t> begins_;
    std::vector<Stretch> stretches_;
    uint32_t open_ = 0;
    uint32_t newest_ = NONE;
};

}  // namespace twigcast::match
