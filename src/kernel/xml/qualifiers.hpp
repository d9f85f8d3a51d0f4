// What names were before expat expanded them: prefixes as written and declarations of namespaces;
// and which attributes are IDs.
//
// The declarations come with the document.  Few programs ask for the rest (`name()`, `id()`); it is
// found for them by `qualifier_collector.hpp`: from the declarations where each namespace has one
// prefix in the whole document, else by reading the document once more, names as written.
//
// Cost: 8 bytes a node; a prefix that is like the one before takes no bytes of its own.
#pragma once

#include "base/common.hpp"

namespace twigcast::xml {

using namespace base;

// Declared by an element: a prefix, empty for the default, and a namespace, empty to undeclare it.
struct Declaration {
    uint32_t element;
    uint32_t prefix_begin, space_begin, space_end;  // in the bytes; the prefix ends at space_begin
};

class Qualifiers {
public:
    bool is_known = false;                  // all but the declarations, which always are
    std::vector<Declaration> declarations;  // by element, in the order of the document
    std::vector<uint32_t> ids;              // the attributes that are IDs, in document order

    std::string_view prefix_of(uint32_t node) const {
        if (node >= prefixes_.size()) return {};
        return {bytes_.data() + prefixes_[node].begin, prefixes_[node].length};
    }
    std::string_view prefix_of(const Declaration& declaration) const {
        return view(declaration.prefix_begin, declaration.space_begin);
    }
    std::string_view space_of(const Declaration& declaration) const {
        return view(declaration.space_begin, declaration.space_end);
    }

    void clear() {
        is_known = false;
        declarations.clear();
        ids.clear();
        prefixes_.clear();
        bytes_.clear();
        last_ = {0, 0};
    }

    void start(size_t nodes) { prefixes_.assign(nodes, {0, 0}); }

    void set_prefix(uint32_t node, std::string_view prefix) {
        if (prefix != view(last_.begin, last_.begin + last_.length)) {
            last_ = {count_of(bytes_), count_of(prefix)};
            bytes_.append(prefix);
        }
        prefixes_[node] = last_;
    }
    void set_prefix(uint32_t node, const Declaration& declaration) {
        prefixes_[node] = {declaration.prefix_begin,
                           declaration.space_begin - declaration.prefix_begin};
    }

    void declare(uint32_t element, std::string_view prefix, std::string_view space) {
        const uint32_t begin = count_of(bytes_);
        bytes_.append(prefix);
        const uint32_t middle = count_of(bytes_);
        bytes_.append(space);
        declarations.push_back({element, begin, middle, count_of(bytes_)});
    }

    size_t declared_bytes() const { return bytes_.size(); }

    size_t byte_size() const {
        return prefixes_.capacity() * sizeof(Prefix) + bytes_.capacity() +
               declarations.capacity() * sizeof(Declaration) + ids.capacity() * sizeof(uint32_t);
    }

private:
    struct Prefix {
        uint32_t begin, length;
    };

    std::string_view view(uint32_t begin, uint32_t end) const {
        return {bytes_.data() + begin, end - begin};
    }

    std::vector<Prefix> prefixes_;  // of each node
    std::string bytes_;
    Prefix last_{0, 0};
};

}  // namespace twigcast::xml
