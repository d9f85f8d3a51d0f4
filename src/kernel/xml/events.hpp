// What readers are given, and what they give to a sink.
//
// A sink takes the events of one document.  It has
//
//     Trouble open_document(size_t size)                      also to start anew
//     bool wants_text() const                                 false: add_text need not be called
//     uint32_t number_of(Kind kind, std::string_view name)    of an element or an attribute
//     uint64_t numbering() const                              numbers stay as long as this does
//     Trouble open_element(uint32_t name, const Attributes& attributes, uint32_t depth)
//     Trouble close_element()
//     Trouble add_text(std::string_view piece)                a run of text comes in pieces
//     Trouble add_comment(std::string_view text)              ends a run, as an instruction does
//     Trouble add_instruction(std::string_view target, std::string_view text)
//
//     void declare(std::string_view prefix, std::string_view space)     for the next element
//
// where names are expanded as expat does it: `local`, or namespace, separator, local.  A sink
// numbers names as it likes, and equal numbers need not mean equal names.  Only a sink that derives
// from WithDeclarations has the last.  A sink may have names and attributes as they are written,
// declarations of namespaces among them: it derives from AsWritten.
#pragma once

#include "base/common.hpp"

namespace twigcast::xml {

using namespace base;

struct Limits {
    uint64_t depth;
    uint64_t attributes;
    uint64_t name_length;
};

enum class Trouble : int {
    none,
    malformed,
    depth,
    attributes,
    name_length,
    entity,    // a reference whose text is not in the document
    capacity,  // more nodes or text than numbers of 32 bits count
    memory,
};

struct Failure {
    Trouble trouble = Trouble::none;
    int code = 0;  // expat's, for a document that is not well-formed
    unsigned long line = 0;
    unsigned long column = 0;  // as expat counts: from 0
};

// A document as it is to be read.
struct Input {
    const char* data;
    size_t size;
    const char* encoding;  // null where the document itself says it
    bool has_type;         // perhaps a document type declaration, whose entities are harmless
    bool only_expat;       // the checked reader is not to try it
    // The attributes that its document type declares as IDs: names of an element and an attribute
    // in turn, as written, each with a zero byte behind it.
    std::string_view ids;
    int64_t now;  // when it is matched: nanoseconds since 1970
};

struct Attribute {
    uint32_t name;
    std::string_view value;
};
using Attributes = std::vector<Attribute>;

// A sink that gets names as they are written.
struct AsWritten {};
// A sink that is told which prefixes are declared.
struct WithDeclarations {};

}  // namespace twigcast::xml
