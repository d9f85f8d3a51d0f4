// A sink of the Reader that reads a document again, names as written, and adds its qualifiers.
//
//     <p:a xmlns:p="u" p:x="1" id="2">     the next element and its attributes, in the same order,
//      │               │     │              but for the declarations
//      node 1          node 2 node 3
#pragma once

#include <unordered_set>

#include "xml/reader.hpp"

namespace twigcast::xml {

using namespace base;

class QualifierCollector : public AsWritten {
public:
    // `ids` as in Input.
    QualifierCollector(Document& document, std::string_view ids)
        : document_(document), qualifiers_(document.qualifiers) {
        for (size_t end = ids.find('\0'); end != std::string_view::npos; end = ids.find('\0')) {
            end = ids.find('\0', end + 1);
            if (end == std::string_view::npos) break;
            ids_.emplace(ids.substr(0, end));
            ids.remove_prefix(end + 1);
        }
    }

    bool wants_text() const { return false; }
    Trouble open_document(size_t) {
        qualifiers_.start(document_.nodes.size());
        return Trouble::none;
    }
    Trouble close_element() { return Trouble::none; }
    Trouble add_text(std::string_view) { return Trouble::none; }
    Trouble add_comment(std::string_view) { return Trouble::none; }
    Trouble add_instruction(std::string_view, std::string_view) { return Trouble::none; }

    Trouble open_element(std::string_view name, const char** attributes, uint32_t) {
        const uint32_t count = count_of(document_.nodes);
        while (at_ < count && kind_at(at_) != Kind::element) ++at_;
        if (at_ == count) return Trouble::capacity;  // never: both reads see the same elements
        const uint32_t element = at_++;
        set_prefix(element, name);
        for (; *attributes != nullptr; attributes += 2) {
            const std::string_view written(attributes[0]);
            if (written == "xmlns") {
                qualifiers_.declare(element, {}, attributes[1]);
            } else if (written.substr(0, 6) == "xmlns:") {
                qualifiers_.declare(element, written.substr(6), attributes[1]);
            } else if (at_ < count && kind_at(at_) == Kind::attribute) {
                set_prefix(at_, written);
                if (is_id(name, written)) qualifiers_.ids.push_back(at_);
                ++at_;
            }
        }
        return Trouble::none;
    }

private:
    Kind kind_at(uint32_t node) const { return kind_of(document_.nodes[node].label); }

    void set_prefix(uint32_t node, std::string_view written) {
        const size_t colon = written.find(':');
        if (colon != std::string_view::npos) qualifiers_.set_prefix(node, written.substr(0, colon));
    }

    bool is_id(std::string_view element, std::string_view attribute) {
        if (attribute == "xml:id") return true;
        if (ids_.empty()) return false;
        key_.assign(element);
        key_.push_back('\0');
        key_.append(attribute);
        return ids_.count(key_) != 0;
    }

    Document& document_;
    Qualifiers& qualifiers_;
    std::unordered_set<std::string> ids_;
    std::string key_;
    uint32_t at_ = 0;
};

// Read what a program needs beside the document itself.
inline Failure read_qualifiers(const ExpatTable* expat, Limits limits, const Input& input,
                               Document& document, Arena* arena = nullptr) {
    limits.attributes = ~uint64_t{0};  // declarations are no attributes, and were read once
    QualifierCollector collector(document, input.ids);
    const Failure failure = Reader(expat, limits, collector, arena).read(input);
    document.qualifiers.is_read = failure.trouble == Trouble::none;
    return failure;
}

}  // namespace twigcast::xml
