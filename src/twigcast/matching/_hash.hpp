// Hashing with a secret, so that nobody can choose names, keys or values that collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace twigcast {

struct HashSecret {
    std::uint64_t start = 0;
    std::uint64_t factor = 1;
};

inline std::uint64_t mix(std::uint64_t one, std::uint64_t other) {
    const unsigned __int128 product = static_cast<unsigned __int128>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(std::string_view bytes, const HashSecret& secret) {
    std::uint64_t hash = secret.start ^ bytes.size();
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        hash = mix(hash ^ word, secret.factor);
    }
    std::uint64_t word = 0;
    if (left != 0) std::memcpy(&word, at, left);
    return mix(hash ^ word, secret.factor);
}

inline std::uint64_t hash_of(std::uint64_t one, std::uint64_t other, const HashSecret& secret) {
    return mix(mix(one ^ secret.start, secret.factor) ^ other, secret.factor);
}

}  // namespace twigcast
