// What a node's string-value must be: a conjunction of comparisons, as bytes.
//
//     comparison (1 byte) · number (8 bytes)          for the numeric comparisons
//     comparison (1 byte) · length (4 bytes) · text   for the others
//
// repeated.  `twigcast.matching.plan` and `TreePlan` write them, in one order, so that equal
// predicates have equal bytes and can be looked up by them.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "base/comparison.hpp"
#include "base/hash.hpp"
#include "base/number_text.hpp"

namespace twigcast::index {

using namespace base;

// A string-value, and what has been computed from it.
class Value {
public:
    explicit Value(std::string_view text) : text(text) {}

    double number() {
        if (!counted_) number_ = to_number(text);
        counted_ = true;
        return number_;
    }

    uint64_t hash(const HashSecret& secret) {
        if (!hashed_) hash_ = hash_of(text, secret);
        hashed_ = true;
        return hash_;
    }

    // Whether the text is in ASCII, and what it is when folded.
    bool folds() {
        if (!folded_) folds_ = fold(text, folded_text_);
        folded_ = true;
        return folds_;
    }
    std::string_view folded() const { return folded_text_; }

    std::string_view text;

private:
    bool counted_ = false, hashed_ = false, folded_ = false, folds_ = false;
    std::string folded_text_;
    double number_ = 0;
    uint64_t hash_ = 0;
};

struct ComparisonView {
    Comparison comparison;
    double number;
    std::string_view text;

    bool is_numeric() const { return base::is_numeric(comparison); }
    // Whether a text is to contain the operand, and not every text does.
    bool is_part() const { return comparison == Comparison::contains && !text.empty(); }

    bool holds(Value& value) const {
        if (is_numeric()) {
            return compare_numbers(value.number(), number_comparison(comparison), number);
        }
        return compare_text(value.text, text_comparison(comparison), text);
    }
};

class PredicateReader {
public:
    explicit PredicateReader(std::string_view bytes) : rest_(bytes) {}

    // Go on to the next comparison; false at the end, or where the bytes are none.
    bool next(ComparisonView& view) {
        if (rest_.empty() || static_cast<unsigned char>(rest_[0]) >= COMPARISON_COUNT) return false;
        view.comparison = static_cast<Comparison>(rest_[0]);
        rest_.remove_prefix(1);
        if (view.is_numeric()) return take(&view.number, sizeof view.number);
        uint32_t length;
        if (!take(&length, sizeof length) || length > rest_.size()) return false;
        view.text = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
    }

    bool at_end() const { return rest_.empty(); }

private:
    bool take(void* target, size_t size) {
        if (rest_.size() < size) return false;
        std::memcpy(target, rest_.data(), size);
        rest_.remove_prefix(size);
        return true;
    }

    std::string_view rest_;
};

inline bool predicate_holds(std::string_view bytes, Value& value) {
    PredicateReader reader(bytes);
    ComparisonView view;
    while (reader.next(view)) {
        if (!view.holds(value)) return false;
    }
    return true;
}

// Whether a text needs only contain the part.
inline bool asks_only_for(std::string_view bytes, std::string_view part) {
    PredicateReader reader(bytes);
    ComparisonView view;
    return reader.next(view) && reader.at_end() && view.is_part() && view.text == part;
}

inline bool is_predicate(std::string_view bytes) {
    PredicateReader reader(bytes);
    ComparisonView view;
    while (reader.next(view)) continue;
    return reader.at_end();
}

// The numbers that pass all numeric comparisons but `!=`, both ends included.
struct Range {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    bool bounded = false;

    void narrow(const ComparisonView& view) {
        constexpr double END = std::numeric_limits<double>::infinity();
        const double number = view.number;
        switch (number_comparison(view.comparison)) {
            case NumberComparison::unequal: return;
            case NumberComparison::equal: return limit(number, number);
            case NumberComparison::less: return limit(-END, std::nextafter(number, -END));
            case NumberComparison::at_most: return limit(-END, number);
            case NumberComparison::greater: return limit(std::nextafter(number, END), END);
            case NumberComparison::at_least: return limit(number, END);
        }
    }

private:
    void limit(double least, double most) {
        low = std::max(low, least);
        high = std::min(high, most);
        bounded = true;
    }
};

}  // namespace twigcast::index
