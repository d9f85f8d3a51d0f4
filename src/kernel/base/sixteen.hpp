// Sixteen bytes looked at at once, with what the processor has for that: SSE2, NEON, or neither.
//
//     Sixteen::load(text).equal('<') | Sixteen::load(text).equal('&')     a mark for each of them
//
// The choice is made when the kernel is built, since every processor of a kind has its set.  Marks
// together are a number, whose lowest bits are of the first byte: 1 bit or 4, as the set has it.
#pragma once

#include <cstring>

#include "base/common.hpp"

#if !defined(TWIGCAST_PLAIN) && defined(__SSE2__)
#define TWIGCAST_SSE2
#include <emmintrin.h>
#elif !defined(TWIGCAST_PLAIN) && defined(__ARM_NEON) && defined(__aarch64__)
#define TWIGCAST_NEON
#include <arm_neon.h>
#endif

namespace twigcast::base {

#if defined(TWIGCAST_SSE2)

struct Sixteen {
    __m128i bytes;

    static Sixteen load(const char* at) {
        return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))};
    }
    Sixteen equal(char byte) const { return {_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte))}; }
    Sixteen equal(Sixteen other) const { return {_mm_cmpeq_epi8(bytes, other.bytes)}; }
    // Bytes count as without a sign.
    Sixteen at_most(char byte) const {
        return {_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(byte)), bytes)};
    }
    Sixteen operator|(Sixteen other) const { return {_mm_or_si128(bytes, other.bytes)}; }
    Sixteen without(Sixteen other) const { return {_mm_andnot_si128(other.bytes, bytes)}; }
    bool has_high_bit() const { return _mm_movemask_epi8(bytes) != 0; }

    // Of bytes that are all ones or all zeros.
    uint64_t marks() const { return static_cast<uint32_t>(_mm_movemask_epi8(bytes)); }
    static constexpr uint32_t BITS = 1;  // of a mark
};

#elif defined(TWIGCAST_NEON)

struct Sixteen {
    uint8x16_t bytes;

    static Sixteen load(const char* at) { return {vld1q_u8(reinterpret_cast<const uint8_t*>(at))}; }
    Sixteen equal(char byte) const {
        return {vceqq_u8(bytes, vdupq_n_u8(static_cast<uint8_t>(byte)))};
    }
    Sixteen equal(Sixteen other) const { return {vceqq_u8(bytes, other.bytes)}; }
    Sixteen at_most(char byte) const {
        return {vcleq_u8(bytes, vdupq_n_u8(static_cast<uint8_t>(byte)))};
    }
    Sixteen operator|(Sixteen other) const { return {vorrq_u8(bytes, other.bytes)}; }
    Sixteen without(Sixteen other) const { return {vbicq_u8(bytes, other.bytes)}; }
    bool has_high_bit() const { return vmaxvq_u8(bytes) >= 0x80; }

    uint64_t marks() const {
        const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
        return vget_lane_u64(vreinterpret_u64_u8(halves), 0);
    }
    static constexpr uint32_t BITS = 4;
};

#else

struct Sixteen {
    uint8_t bytes[16];

    static Sixteen load(const char* at) {
        Sixteen loaded;
        std::memcpy(loaded.bytes, at, sizeof loaded.bytes);
        return loaded;
    }
    Sixteen equal(char byte) const {
        return each([&](size_t at) { return bytes[at] == static_cast<uint8_t>(byte) ? ALL : 0; });
    }
    Sixteen equal(Sixteen other) const {
        return each([&](size_t at) { return bytes[at] == other.bytes[at] ? ALL : 0; });
    }
    Sixteen at_most(char byte) const {
        return each([&](size_t at) { return bytes[at] <= static_cast<uint8_t>(byte) ? ALL : 0; });
    }
    Sixteen operator|(Sixteen other) const {
        return each([&](size_t at) { return bytes[at] | other.bytes[at]; });
    }
    Sixteen without(Sixteen other) const {
        return each([&](size_t at) { return bytes[at] & ~other.bytes[at]; });
    }
    bool has_high_bit() const {
        uint8_t any = 0;
        for (const uint8_t byte : bytes) any |= byte;
        return any >= 0x80;
    }

    uint64_t marks() const {
        uint64_t all = 0;
        for (size_t at = 0; at < 16; ++at) all |= uint64_t{bytes[at] & 1u} << at;
        return all;
    }
    static constexpr uint32_t BITS = 1;

private:
    static constexpr int ALL = 0xFF;

    template <class Byte>
    static Sixteen each(Byte byte) {
        Sixteen made;
        for (size_t at = 0; at < 16; ++at) made.bytes[at] = static_cast<uint8_t>(byte(at));
        return made;
    }
};

#endif

// Which byte has the first mark; there is one.
inline uint32_t first_of(uint64_t marks) {
    return static_cast<uint32_t>(__builtin_ctzll(marks)) / Sixteen::BITS;
}

// The marks that the first `count` bytes would have, of which there are at most 16.
inline uint64_t first_marks(uint32_t count) {
    return count * Sixteen::BITS >= 64 ? ~uint64_t{0} : (uint64_t{1} << count * Sixteen::BITS) - 1;
}

}  // namespace twigcast::base
