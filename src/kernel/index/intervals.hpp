// Search in intervals that are sorted by their lower ends.
//
// `most` of the middle interval is the highest upper end of all, and so on in both halves.  So all
// intervals around a number are visited in time proportional to their count times a logarithm.
#pragma once

#include <limits>

#include "base/common.hpp"

namespace twigcast::index {

// Set `most` of all intervals.
template <class Interval>
double set_most(Interval* all, size_t begin, size_t end) {
    if (begin == end) return -std::numeric_limits<double>::infinity();
    const size_t middle = begin + (end - begin) / 2;
    const double below = set_most(all, begin, middle);
    const double above = set_most(all, middle + 1, end);
    return all[middle].most = std::max({all[middle].high, below, above});
}

// Visit the intervals that hold the number, while `visit` wants to go on; whether it still does.
template <class Interval, class Visit>
bool search_intervals(const Interval* all, size_t begin, size_t end, double sought,
                      const Visit& visit) {
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const Interval& interval = all[middle];
        if (interval.most < sought) return true;
        if (!search_intervals(all, begin, middle, sought, visit)) return false;
        if (interval.low > sought) return true;
        if (interval.high >= sought && !visit(interval)) return false;
        begin = middle + 1;
    }
    return true;
}

}  // namespace twigcast::index
