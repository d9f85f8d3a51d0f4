// What every stage needs: the number that stands for "none", counts, and the kinds of nodes.  The
// parts of the standard library that nearly every header uses are included here and only here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twigcast::base {

constexpr uint32_t NONE = 0xFFFFFFFF;

// The number of no generation and of no version.
constexpr uint64_t NEVER = 0xFFFFFFFFFFFFFFFF;

// How many elements there are; no array has more than numbers of 32 bits can name.
template <class Container>
uint32_t count_of(const Container& elements) {
    return static_cast<uint32_t>(elements.size());
}

// Between the namespace and the local part of an expanded name.  No document of XML can hold this
// character, not even by reference.
constexpr char NAMESPACE_SEPARATOR = '\x01';

// What a node is; only a node test can be of the kind `any`.
enum class Kind : uint32_t { document, element, attribute, text, comment, instruction, space, any };

}  // namespace twigcast::base
