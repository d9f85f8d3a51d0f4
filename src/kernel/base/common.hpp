// What every stage needs: the number that stands for "none", and the kinds of nodes.
#pragma once

#include <cstdint>

namespace twigcast::base {

constexpr std::uint32_t NONE = 0xFFFFFFFF;

// Between the namespace and the local part of an expanded name.  No document of XML can hold this
// character, not even by reference.
constexpr char NAMESPACE_SEPARATOR = '\x01';

enum class Kind : std::uint32_t { document, element, attribute, text };

}  // namespace twigcast::base
