// Which prefix stands for which namespace, at the place that a reader has come to.
//
//     bind ──► the binding before is kept ──► leave(mark), at the end of the element, restores it
//
// Namespaces are numbered, also from document to document: 0 is none, 1 is that of the prefix xml.
#pragma once

#include "xml/written_names.hpp"

namespace twigcast::xml {

using namespace base;

class Scopes {
public:
    static constexpr uint32_t NO_SPACE = 0, XML_SPACE = 1;

    Scopes() { forget(); }

    // Forget the numbers of namespaces.
    void forget() { spaces_.assign({"", std::string(XML_NAMESPACE)}); }
    bool are_many() const { return spaces_.size() > MOST / 2; }

    void start() {
        undone_.clear();
        bound_.assign(1, XML_SPACE);  // WrittenNames::XML
        default_ = NO_SPACE;
    }

    uint32_t default_space() const { return default_; }
    // NONE where the prefix is not bound.
    uint32_t space_of(uint32_t prefix) const {
        return prefix < bound_.size() ? bound_[prefix] : NONE;
    }
    std::string_view text_of(uint32_t space) const { return spaces_[space]; }

    size_t mark() const { return undone_.size(); }

    // Let a prefix, or NONE for the default, stand for a namespace from here; false if expat might
    // refuse that.  `likely` is the number that the namespace may have.
    bool bind(uint32_t prefix, std::string_view text, uint32_t& likely) {
        if (text.empty() && prefix != NONE) return false;
        if (likely >= spaces_.size() || spaces_[likely] != text) {
            if (text == XML_NAMESPACE || text == XMLNS_NAMESPACE) return false;
            likely = number_of(text);
            if (likely == NONE) return false;
        }
        if (prefix == NONE) {
            undone_.push_back({NONE, default_});
            default_ = likely;
            return true;
        }
        if (prefix >= bound_.size()) bound_.resize(prefix + size_t{1}, NONE);
        undone_.push_back({prefix, bound_[prefix]});
        bound_[prefix] = likely;
        return true;
    }

    void leave(size_t mark) {
        for (; undone_.size() > mark; undone_.pop_back()) {
            const Binding& before = undone_.back();
            (before.prefix == NONE ? default_ : bound_[before.prefix]) = before.space;
        }
    }

private:
    static constexpr size_t MOST = 256;
    static constexpr std::string_view XMLNS_NAMESPACE = "http://www.w3.org/2000/xmlns/";

    struct Binding {
        uint32_t prefix, space;
    };

    uint32_t number_of(std::string_view text) {
        const auto found = std::find(spaces_.begin(), spaces_.end(), text);
        if (found == spaces_.end()) {
            if (spaces_.size() == MOST) return NONE;
            spaces_.emplace_back(text);
            return count_of(spaces_) - 1;
        }
        return static_cast<uint32_t>(found - spaces_.begin());
    }

    std::vector<std::string> spaces_;
    std::vector<uint32_t> bound_;  // by the number of the prefix among written names
    std::vector<Binding> undone_;  // what was before, newest last
    uint32_t default_ = NO_SPACE;
};

}  // namespace twigcast::xml
