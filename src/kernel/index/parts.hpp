// The texts that `contains` asks for, each once, and the places of a text where they may stand.
//
//     every 4 bytes of a text ──► filter ──► bucket ──► parts ──► compared by whoever asks
//
// A *part* is a text that some predicate wants a value to contain.  It is filed in the bucket of
// its *gram*: those 4 bytes of it, or all of a shorter one, whose bucket holds the fewest others.
// The filter has a bit for each gram and is small enough to stay near the processor: most places
// of a text need nothing else.  One pass for each length of gram that occurs finds all parts,
// whoever asks for them.
#pragma once

#include "base/flat_array.hpp"
#include "base/hash.hpp"
#include "base/slots.hpp"

namespace twigcast::index {

using namespace base;

struct Part {
    uint64_t text_begin;
    uint32_t length;
    uint32_t gram;  // where that begins within the part
    uint32_t next;  // an older one in the same bucket, or NONE
};

class Parts {
public:
    uint32_t count() const { return parts_.count(); }
    uint32_t longest() const { return longest_; }
    const Part& operator[](uint32_t number) const { return parts_[number]; }
    std::string_view text_of(uint32_t number) const {
        return {texts_.data() + parts_[number].text_begin, parts_[number].length};
    }

    uint32_t find(std::string_view text, const HashSecret& secret) const {
        return slots_.find(hash_of(text, secret),
                           [&](uint32_t number) { return text_of(number) == text; });
    }

    // The number of a text that is not empty.
    uint32_t intern(std::string_view text, const HashSecret& secret) {
        const uint32_t known = find(text, secret);
        if (known != NONE) return known;
        const uint32_t gram = rarest_gram(text, secret);
        const uint64_t begin = texts_.append(text.data(), text.size());
        const uint32_t number = parts_.add({begin, count_of(text), gram, NONE});
        slots_.add(hash_of(text, secret), number,
                   [&](uint32_t other) { return hash_of(text_of(other), secret); });
        note(parts_[number]);
        if (buckets_.size() < size_t{2} * parts_.count()) {
            widen(secret);
        } else {
            file(number, secret);
        }
        return number;
    }

    // Whether the part stands there.
    bool is_at(const Part& part, std::string_view text, size_t begin) const {
        return part.length <= text.size() - begin &&
               std::memcmp(text.data() + begin, texts_.data() + part.text_begin, part.length) == 0;
    }

    // Visit the parts that may stand in the text, with where their grams do, from `begin` on.  Each
    // part is visited in the order of places.
    template <class Visit>
    void search(std::string_view text, size_t begin, const HashSecret& secret, Visit visit) const {
        if ((lengths_ >> 1 & 1) != 0) search_grams<1>(text, begin, secret, visit);
        if ((lengths_ >> 2 & 1) != 0) search_grams<2>(text, begin, secret, visit);
        if ((lengths_ >> 3 & 1) != 0) search_grams<3>(text, begin, secret, visit);
        if ((lengths_ >> 4 & 1) != 0) search_grams<4>(text, begin, secret, visit);
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(parts_);
        visit(texts_);
        visit(buckets_);
        visit(filter_);
        slots_.each_array(visit);
    }

    bool is_sound() {
        for (uint32_t at = 0; at < parts_.count(); ++at) {
            const Part& part = parts_[at];
            if (part.length == 0 || part.text_begin > texts_.size() ||
                part.length > texts_.size() - part.text_begin || part.gram >= part.length ||
                part.length - part.gram < gram_length(part.length) ||
                (part.next != NONE && part.next >= at)) {
                return false;
            }
            note(part);
        }
        for (size_t at = 0; at < buckets_.size(); ++at) {
            if (buckets_[at].first != NONE && buckets_[at].first >= parts_.size()) return false;
        }
        return (buckets_.size() & (buckets_.size() - 1)) == 0 &&
               filter_.size() == buckets_.size() / BUCKETS_A_WORD &&
               buckets_.empty() == parts_.empty() && slots_.is_sound(parts_.size());
    }

private:
    static constexpr uint32_t LONGEST_GRAM = 4;
    static constexpr size_t BUCKETS_A_WORD = 8;  // of the filter
    static constexpr size_t SMALLEST = 64;       // number of buckets

    struct Bucket {
        uint32_t first = NONE;
        uint32_t count = 0;
    };
    // A place of a text, and the bucket of the gram there or its first part.
    struct Spot {
        uint32_t number;
        size_t at;
    };

    static uint32_t gram_length(uint32_t length) { return std::min(length, LONGEST_GRAM); }

    static uint64_t gram_hash(const char* at, uint32_t length, const HashSecret& secret) {
        uint64_t word = load<uint8_t>(at);
        if (length == 2) word = load<uint16_t>(at);
        if (length == 3) word = load<uint16_t>(at) | load<uint8_t>(at + 2) << 16;
        if (length == 4) word = load<uint32_t>(at);
        return mix((word | uint64_t{length} << 32) ^ secret.start, secret.factor);
    }
    size_t bucket_of(uint64_t hash) const { return hash >> 32 & (buckets_.size() - 1); }
    size_t word_of(uint64_t hash) const { return hash >> 6 & (filter_.size() - 1); }

    void note(const Part& part) {
        longest_ = std::max(longest_, part.length);
        lengths_ |= 1u << gram_length(part.length);
    }

    // Among the first ones.
    uint32_t rarest_gram(std::string_view text, const HashSecret& secret) const {
        constexpr uint32_t MOST_TRIED = 64;
        if (buckets_.empty()) return 0;
        const uint32_t length = gram_length(count_of(text));
        uint32_t rarest = 0, fewest = NONE;
        for (uint32_t at = 0; at + length <= text.size() && at < MOST_TRIED && fewest != 0; ++at) {
            const uint64_t hash = gram_hash(text.data() + at, length, secret);
            const uint32_t count = buckets_[bucket_of(hash)].count;
            if (count >= fewest) continue;
            fewest = count;
            rarest = at;
        }
        return rarest;
    }

    void file(uint32_t number, const HashSecret& secret) {
        Part& part = parts_.edit(number);
        const uint64_t hash =
            gram_hash(text_of(number).data() + part.gram, gram_length(part.length), secret);
        Bucket& bucket = buckets_.edit(bucket_of(hash));
        part.next = bucket.first;
        bucket.first = number;
        ++bucket.count;
        filter_.edit(word_of(hash)) |= uint64_t{1} << (hash & 63);
    }

    void widen(const HashSecret& secret) {
        std::vector<Bucket> buckets(std::max(buckets_.size() * 2, SMALLEST));
        std::vector<uint64_t> filter(buckets.size() / BUCKETS_A_WORD);
        buckets_.swap_with(buckets);
        filter_.swap_with(filter);
        for (uint32_t number = 0; number < parts_.count(); ++number) file(number, secret);
    }

    // In blocks, so that memory is fetched before it is used.
    template <uint32_t LENGTH, class Visit>
    void search_grams(std::string_view text, size_t begin, const HashSecret& secret,
                      Visit& visit) const {
        constexpr size_t BLOCK = 128;
        Spot spots[BLOCK];
        while (begin + LENGTH <= text.size()) {
            const size_t end = std::min(begin + BLOCK, text.size() - LENGTH + 1);
            size_t count = 0;
            for (; begin < end; ++begin) {
                const uint64_t hash = gram_hash(text.data() + begin, LENGTH, secret);
                spots[count] = {static_cast<uint32_t>(bucket_of(hash)), begin};
                count += filter_[word_of(hash)] >> (hash & 63) & 1;
            }
            for (size_t at = 0; at < count; ++at) __builtin_prefetch(&buckets_[spots[at].number]);
            size_t kept = 0;
            for (size_t at = 0; at < count; ++at) {
                const uint32_t first = buckets_[spots[at].number].first;
                if (first == NONE) continue;
                __builtin_prefetch(&parts_[first]);
                spots[kept++] = {first, spots[at].at};
            }
            for (size_t at = 0; at < kept; ++at) {
                __builtin_prefetch(texts_.data() + parts_[spots[at].number].text_begin);
            }
            for (size_t at = 0; at < kept; ++at) {
                for (uint32_t part = spots[at].number; part != NONE; part = parts_[part].next) {
                    if (gram_length(parts_[part].length) == LENGTH) visit(part, spots[at].at);
                }
            }
        }
    }

    FlatArray<Part> parts_;
    FlatArray<char> texts_;
    FlatArray<Bucket> buckets_;   // a power of two of them
    FlatArray<uint64_t> filter_;  // a bit for each gram
    Slots slots_;                 // by text
    uint32_t longest_ = 0;
    uint32_t lengths_ = 0;  // bit n: a gram has n bytes
};

}  // namespace twigcast::index
