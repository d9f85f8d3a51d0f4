// Hashing with a secret, so that nobody can choose names, keys or values that collide.
#pragma once

#include <cstring>

#include "base/common.hpp"

namespace twigcast::base {

struct HashSecret {
    uint64_t start = 0;
    uint64_t factor = 1;
};

inline uint64_t mix(uint64_t one, uint64_t other) {
    const unsigned __int128 product = static_cast<unsigned __int128>(one) * other;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class Word>
uint64_t load(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Names and values are short, and a copy of a few bytes of unknown number is a call; so the last
// word overlaps the one before, and what is shorter than a word is put together from its ends.
inline uint64_t hash_of(std::string_view bytes, const HashSecret& secret) {
    uint64_t hash = secret.start ^ bytes.size();
    const char* at = bytes.data();
    size_t left = bytes.size();
    if (left >= 8) {
        for (; left > 8; at += 8, left -= 8) hash = mix(hash ^ load<uint64_t>(at), secret.factor);
        return mix(hash ^ load<uint64_t>(at + left - 8), secret.factor);
    }
    uint64_t word = 0;
    if (left >= 4) {
        word = load<uint32_t>(at) | load<uint32_t>(at + left - 4) << 32;
    } else if (left != 0) {
        word = load<uint8_t>(at) | load<uint8_t>(at + left / 2) << 8 |
               load<uint8_t>(at + left - 1) << 16;
    }
    return mix(hash ^ word, secret.factor);
}

inline uint64_t hash_of(uint64_t one, uint64_t other, const HashSecret& secret) {
    return mix(mix(one ^ secret.start, secret.factor) ^ other, secret.factor);
}

}  // namespace twigcast::base
