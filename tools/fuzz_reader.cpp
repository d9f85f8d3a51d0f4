// A target for libFuzzer: what the checked reader takes, expat takes with the same events.
//
//     clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -Ilab/readers -Isrc/kernel
//         -Ibuild/kernel tools/fuzz_reader.cpp -o build/fuzz_reader -lexpat
//
// `make sanitize` builds and runs it where there is a clang with libFuzzer, and expat's header.
#include <expat.h>

#include <cstdlib>

#include "readers.hpp"

namespace {

template <class To, class From>
void set(To& to, From from) {
    to = reinterpret_cast<To>(from);
}

twigcast::xml::ExpatTable make_table() {
    twigcast::xml::ExpatTable table{};
    set(table.error_code, XML_GetErrorCode);
    set(table.column, XML_GetCurrentColumnNumber);
    set(table.line, XML_GetCurrentLineNumber);
    set(table.parse, XML_Parse);
    set(table.create, XML_ParserCreate_MM);
    set(table.free, XML_ParserFree);
    set(table.set_character_handler, XML_SetCharacterDataHandler);
    set(table.set_comment_handler, XML_SetCommentHandler);
    set(table.set_default_handler, XML_SetDefaultHandlerExpand);
    set(table.set_element_handler, XML_SetElementHandler);
    set(table.set_declaration_handler, XML_SetNamespaceDeclHandler);
    set(table.set_instruction_handler, XML_SetProcessingInstructionHandler);
    set(table.set_user_data, XML_SetUserData);
    set(table.set_type_handler, XML_SetStartDoctypeDeclHandler);
    set(table.set_hash_salt, XML_SetHashSalt);
    return table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const twigcast::xml::ExpatTable table = make_table();
    static lab::Readers readers(&table);
    if (size == 0) return 0;
    // The first byte chooses the encoding that is forced on the readers, and the limits.
    constexpr const char* ENCODINGS[] = {nullptr, nullptr, "utf-8", "iso-8859-1"};
    const bool is_strict = (data[0] & 4) != 0;
    twigcast::xml::Input input{};
    input.encoding = ENCODINGS[data[0] & 3];
    const std::vector<char> bytes(data + 1, data + size);
    input.data = bytes.data();
    input.size = bytes.size();
    input.has_type = true;
    const lab::Outcome outcome =
        readers.compare(input, is_strict ? lab::STRICT_LIMITS : lab::USUAL_LIMITS);
    if (outcome >= lab::wrongly_taken) std::abort();
    return 0;
}
