// The destinations that want the documents of a batch: a row of words each, all of one length.
#pragma once

#include "index/destinations.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

struct Vectors {
    uint32_t words = 1;
    std::vector<uint32_t> rows;       // a row for each document
    std::vector<uint32_t> looked_at;  // how many paths, values and patterns, for each document

    // Add what was found for a document, in the form of the index.
    void add(const std::vector<uint32_t>& vector, uint32_t looked) {
        if (vector.size() > FIRST + words) widen(count_of(vector) - FIRST);
        const size_t end = rows.size() + words;
        if (!vector.empty()) rows.insert(rows.end(), vector.begin() + FIRST, vector.end());
        rows.resize(end);
        looked_at.push_back(looked);
    }
    // For a document that could not be read.
    void add_nothing() { add({}, 0); }

private:
    static constexpr uint32_t FIRST = FIRST_DESTINATION / 32;  // words that are none of a row

    // A destination beyond all others came while the batch was matched.
    void widen(uint32_t wider) {
        std::vector<uint32_t> wide(looked_at.size() * wider);
        for (size_t at = 0; at < rows.size(); ++at) {
            wide[at / words * wider + at % words] = rows[at];
        }
        rows.swap(wide);
        words = wider;
    }
};

}  // namespace twigcast::match
