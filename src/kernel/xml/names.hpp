// The names of one document, numbered.
#pragma once

#include "base/common.hpp"
#include "base/hash.hpp"

namespace twigcast::xml {

using namespace base;

// What the prefix xml stands for, without a declaration.
constexpr std::string_view XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace";

// The secret of this process's documents.  Set once, on import.
inline HashSecret hash_secret;

// Expanded names, numbered from 0 in order of appearance, spelled `local` or namespace, separator,
// local.  A namespace's bytes are kept once, as an entry of their own that ends in the separator
// and that no node uses: a megabyte of short tags below a long namespace name stays a megabyte.
class Names {
public:
    Names() : slots_(128, NONE) {
        bytes_.reserve(512);
        entries_.reserve(64);
    }

    uint32_t size() const { return count_of(entries_); }

    std::string_view namespace_of(uint32_t name) const {
        std::string_view prefix = prefix_of(entries_[name]);
        if (!prefix.empty()) prefix.remove_suffix(1);
        return prefix;
    }
    std::string_view local_of(uint32_t name) const {
        const Entry& entry = entries_[name];
        return {bytes_.data() + entry.begin, entry.length};
    }

    // The number of the name, or NONE.
    uint32_t find(std::string_view name) const {
        return slots_[slot_of(name, hash_of(name, hash_secret))];
    }

    // The number of the name that a prefix xml gives, or NONE.
    uint32_t find_xml(std::string_view local) const {
        std::string name(XML_NAMESPACE);
        name.push_back(NAMESPACE_SEPARATOR);
        return find(name.append(local));
    }

    // The number of the name; a new one is added with the number size().
    uint32_t intern(std::string_view name) {
        const uint64_t hash = hash_of(name, hash_secret);
        const uint32_t known = slots_[slot_of(name, hash)];
        return known != NONE ? known : add(name, hash);
    }

    size_t byte_size() const {
        return bytes_.capacity() + entries_.capacity() * sizeof(Entry) +
               slots_.capacity() * sizeof(uint32_t);
    }

private:
    struct Entry {
        uint64_t hash;
        uint32_t begin, length;  // of the local part
        uint32_t space;          // the entry of the namespace, or NONE
    };

    std::string_view prefix_of(const Entry& entry) const {
        return entry.space == NONE ? std::string_view{} : local_of(entry.space);
    }

    bool spells(const Entry& entry, std::string_view name) const {
        const std::string_view prefix = prefix_of(entry);
        const std::string_view local{bytes_.data() + entry.begin, entry.length};
        return prefix.size() + local.size() == name.size() && name.substr(prefix.size()) == local &&
               name.substr(0, prefix.size()) == prefix;
    }

    // The slot that holds the name, or the free one where it belongs.
    size_t slot_of(std::string_view name, uint64_t hash) const {
        const size_t mask = slots_.size() - 1;
        size_t slot = hash & mask;
        while (slots_[slot] != NONE) {
            const Entry& entry = entries_[slots_[slot]];
            if (entry.hash == hash && spells(entry, name)) break;
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    uint32_t add(std::string_view name, uint64_t hash) {
        uint32_t space = NONE;
        const size_t separator = name.find(NAMESPACE_SEPARATOR);
        if (separator < name.size() - 1) {
            space = intern(name.substr(0, separator + 1));
            name.remove_prefix(separator + 1);
        }
        if (entries_.size() * 2 >= slots_.size()) grow();
        const uint32_t number = size();
        entries_.push_back({hash, count_of(bytes_), count_of(name), space});
        bytes_.append(name);
        put(slots_, number);
        return number;
    }

    void grow() {
        std::vector<uint32_t> wider(slots_.size() * 4, NONE);
        for (uint32_t number = 0; number < size(); ++number) put(wider, number);
        slots_.swap(wider);
    }

    // Put an entry that is not there into its slot.
    void put(std::vector<uint32_t>& slots, uint32_t number) const {
        const size_t mask = slots.size() - 1;
        size_t slot = entries_[number].hash & mask;
        while (slots[slot] != NONE) slot = (slot + 1) & mask;
        slots[slot] = number;
    }

    std::string bytes_;
    std::vector<Entry> entries_;
    std::vector<uint32_t> slots_;  // a power of two of them, at most half full
};

}  // namespace twigcast::xml
