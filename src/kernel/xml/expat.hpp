// The functions of CPython's own expat that the kernel calls.
//
// CPython hands them out in the capsule `pyexpat.expat_CAPI`: a table whose layout has been fixed
// since version 1.1 of its magic word and only ever grows at the end.  Declaring the table here
// rather than including expat.h means that no header of expat need be installed, and that the
// expat used is the one CPython was built with, whatever else lies on the machine.
//
// Expat holds no Python objects and, without a memory suite, allocates with malloc: everything
// but fetching the table may run without the interpreter lock.
#pragma once

#include <cstring>

#include "base/common.hpp"

namespace twigcast::xml {

extern "C" {

struct ExpatParser;  // never looked into

typedef void (*StartElementHandler)(void*, const char* name, const char** attributes);
typedef void (*EndElementHandler)(void*, const char* name);
typedef void (*CharacterHandler)(void*, const char* text, int length);
typedef void (*CommentHandler)(void*, const char* text);
typedef void (*InstructionHandler)(void*, const char* target, const char* text);
typedef void (*DeclarationHandler)(void*, const char* prefix, const char* space);
typedef void (*TypeStartHandler)(void*, const char* name, const char* system, const char* public_,
                                 int has_subset);
typedef void (*UnusedFunction)(void);

struct ExpatTable {
    const char* magic;
    int size;
    int major_version;
    int minor_version;
    int micro_version;
    UnusedFunction error_string;
    int (*error_code)(ExpatParser*);
    unsigned long (*column)(ExpatParser*);  // of the event being reported, or of the error
    unsigned long (*line)(ExpatParser*);
    int (*parse)(ExpatParser*, const char* data, int length, int is_final);
    ExpatParser* (*create)(const char* encoding, const void* memory, const char* separator);
    void (*free)(ExpatParser*);
    void (*set_character_handler)(ExpatParser*, CharacterHandler);
    void (*set_comment_handler)(ExpatParser*, CommentHandler);
    void (*set_default_handler)(ExpatParser*, CharacterHandler);
    void (*set_element_handler)(ExpatParser*, StartElementHandler, EndElementHandler);
    // Of the beginning and the end of a declaration; it comes before the element it stands in.
    void (*set_declaration_handler)(ExpatParser*, DeclarationHandler, UnusedFunction);
    void (*set_instruction_handler)(ExpatParser*, InstructionHandler);
    UnusedFunction set_unknown_encoding_handler;
    void (*set_user_data)(ExpatParser*, void*);
    void (*set_type_handler)(ExpatParser*, TypeStartHandler);  // of its beginning only
    UnusedFunction set_encoding;
    UnusedFunction default_unknown_encoding_handler;
    int (*set_hash_salt)(ExpatParser*, unsigned long salt);
};

}  // extern "C"

constexpr const char* EXPAT_CAPSULE = "pyexpat.expat_CAPI";
constexpr const char* EXPAT_MAGIC = "pyexpat.expat_CAPI 1.1";

// Whether the table has the layout above, from an expat that bounds what entities cost (2.4).
inline bool is_usable(const ExpatTable* table) {
    return std::strcmp(table->magic, EXPAT_MAGIC) == 0 &&
           static_cast<size_t>(table->size) >= sizeof(ExpatTable) && table->major_version == 2 &&
           table->minor_version >= 4;
}

}  // namespace twigcast::xml
