// Hashing with a secret, so that nobody can choose names, keys or values that collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace twigcast::base {

struct HashSecret {
    std::uint64_t start = 0;
    std::uint64_t factor = 1;
};

inline std::uint64_t mix(std::uint64_t one, std::uint64_t other) {
    const unsigned __int128 product = static_cast<unsigned __int128>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
std::uint64_t load(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Names and values are short, and a copy of a few bytes of unknown number is a call; so the last
// word overlaps the one before, and what is shorter than a word is put together from its ends.
inline std::uint64_t hash_of(std::string_view bytes, const HashSecret& secret) {
    std::uint64_t hash = secret.start ^ bytes.size();
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    if (left >= 8) {
        for (; left > 8; at += 8, left -= 8)
            hash = mix(hash ^ load<std::uint64_t>(at), secret.factor);
        return mix(hash ^ load<std::uint64_t>(at + left - 8), secret.factor);
    }
    std::uint64_t word = 0;
    if (left >= 4) {
        word = load<std::uint32_t>(at) | load<std::uint32_t>(at + left - 4) << 32;
    } else if (left != 0) {
        word = load<std::uint8_t>(at) | load<std::uint8_t>(at + left / 2) << 8 |
               load<std::uint8_t>(at + left - 1) << 16;
    }
    return mix(hash ^ word, secret.factor);
}

inline std::uint64_t hash_of(std::uint64_t one, std::uint64_t other, const HashSecret& secret) {
    return mix(mix(one ^ secret.start, secret.factor) ^ other, secret.factor);
}

}  // namespace twigcast::base
