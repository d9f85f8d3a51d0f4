// Finds the qualifiers of a document: from its declarations, or by a sink of the Reader that reads
// the document again, names as written.
//
//     <p:a xmlns:p="u" p:x="1" id="2">     the next element and its attributes, in the same order,
//      │               │     │              but for the declarations
//      node 1          node 2 node 3
#pragma once

#include <unordered_set>

#include "xml/document.hpp"
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
    uint32_t number_of(Kind, std::string_view name) { return written_.intern(name); }
    Trouble open_document(size_t) {
        qualifiers_.clear();
        qualifiers_.start(document_.nodes.size());
        return Trouble::none;
    }
    Trouble close_element() { return Trouble::none; }
    Trouble add_text(std::string_view) { return Trouble::none; }
    Trouble add_comment(std::string_view) { return Trouble::none; }
    Trouble add_instruction(std::string_view, std::string_view) { return Trouble::none; }

    Trouble open_element(uint32_t number, const Attributes& attributes, uint32_t) {
        const std::string_view name = written_.local_of(number);
        const uint32_t count = count_of(document_.nodes);
        while (at_ < count && kind_at(at_) != Kind::element) ++at_;
        if (at_ == count) return Trouble::capacity;  // never: both reads see the same elements
        const uint32_t element = at_++;
        set_prefix(element, name);
        for (const Attribute& attribute : attributes) {
            const std::string_view written = written_.local_of(attribute.name);
            if (written == "xmlns") {
                qualifiers_.declare(element, {}, attribute.value);
            } else if (written.substr(0, 6) == "xmlns:") {
                qualifiers_.declare(element, written.substr(6), attribute.value);
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
    Names written_;
    std::unordered_set<std::string> ids_;
    std::string key_;
    uint32_t at_ = 0;
};

// The qualifiers as the declarations tell them; false where a namespace has two prefixes.
inline bool derive_qualifiers(Document& document) {
    Qualifiers& qualifiers = document.qualifiers;
    const std::vector<Declaration>& declared = qualifiers.declarations;
    constexpr size_t FEW = 64;  // that are compared pair by pair
    if (declared.size() > FEW) return false;
    for (size_t one = 0; one < declared.size(); ++one) {
        for (size_t two = 0; two < one; ++two) {
            if (qualifiers.space_of(declared[one]) == qualifiers.space_of(declared[two]) &&
                qualifiers.prefix_of(declared[one]) != qualifiers.prefix_of(declared[two])) {
                return false;
            }
        }
    }
    const Names& names = document.names;
    std::vector<const Declaration*> by_name(names.size() + size_t{1}, nullptr);
    std::vector<bool> is_met(names.size() + size_t{1});
    const uint32_t id = names.find_xml("id");
    qualifiers.start(document.nodes.size());
    for (uint32_t node = 0; node < count_of(document.nodes); ++node) {
        const uint32_t label = document.nodes[node].label;
        if (kind_of(label) != Kind::element && kind_of(label) != Kind::attribute) continue;
        const uint32_t name = name_of(label);
        if (!is_met[name]) {
            is_met[name] = true;
            const std::string_view space = names.namespace_of(name);
            for (const Declaration& one : declared) {
                if (!space.empty() && qualifiers.space_of(one) == space) by_name[name] = &one;
            }
        }
        if (by_name[name] != nullptr) {
            qualifiers.set_prefix(node, *by_name[name]);
        } else if (names.namespace_of(name) == XML_NAMESPACE) {
            qualifiers.set_prefix(node, "xml");
        }
        if (name == id && kind_of(label) == Kind::attribute) qualifiers.ids.push_back(node);
    }
    return true;
}

// Find what a program needs beside the document itself.
inline Failure find_qualifiers(Limits limits, const Input& input, Document& document,
                               ReaderMemory& memory) {
    if (input.ids.empty() && derive_qualifiers(document)) {
        document.qualifiers.is_known = true;
        return {};
    }
    limits.attributes = ~uint64_t{0};  // declarations are no attributes, and were read once
    QualifierCollector collector(document, input.ids);
    const Failure failure = ExpatReader(memory.expat, limits, collector, memory.arena).read(input);
    document.qualifiers.is_known = failure.trouble == Trouble::none;
    return failure;
}

}  // namespace twigcast::xml
