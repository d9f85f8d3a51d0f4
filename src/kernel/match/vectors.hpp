// The destinations that want the documents of a batch: a row of words each, all of one length.
#pragma once

#include "base/common.hpp"

namespace twigcast::match {

struct Vectors {
    uint32_t words = 1;
    std::vector<uint32_t> rows;       // a row for each document
    std::vector<uint32_t> looked_at;  // how many paths, values and patterns, for each document

    void add(const std::vector<uint32_t>& vector, uint32_t looked) {
        if (vector.size() > words) widen(base::count_of(vector));
        rows.insert(rows.end(), vector.begin(), vector.end());
        rows.resize(rows.size() + words - vector.size());
        looked_at.push_back(looked);
    }
    // For a document that could not be read.
    void add_nothing() { add({}, 0); }

private:
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
