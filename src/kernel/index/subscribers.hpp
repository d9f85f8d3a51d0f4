// Who subscribed to what: keys, and for each pattern the list of its subscriptions.
//
// A subscription that was removed stays, with the version at which it went, until the index is
// rebuilt: an answer given at some version can be expanded later and still names those who were
// there then.
#pragma once

#include "base/common.hpp"
#include "base/flat_array.hpp"
#include "base/hash.hpp"
#include "base/slots.hpp"

namespace twigcast::index {

using namespace base;

constexpr uint64_t NEVER_REMOVED = 0xFFFFFFFFFFFFFFFF;

struct Subscriber {
    uint64_t key_begin;
    uint64_t added, removed;  // versions of the index
    uint32_t key_length;
    uint32_t pattern;
    uint32_t next;  // an older one of the same pattern, or NONE

    bool is_there(uint64_t version) const { return added <= version && version < removed; }
};

class Subscribers {
public:
    const Subscriber& operator[](uint32_t number) const { return entries_[number]; }
    uint32_t count() const { return entries_.count(); }
    void prefetch(uint32_t number) const { __builtin_prefetch(&entries_[number]); }

    std::string_view key_of(uint32_t number) const {
        return {keys_.data() + entries_[number].key_begin, entries_[number].key_length};
    }

    // The subscription of that key that is there now, or NONE.
    uint32_t find(std::string_view key, const HashSecret& secret) const {
        return slots_.find(hash_of(key, secret), [&](uint32_t number) {
            return entries_[number].removed == NEVER_REMOVED && key_of(number) == key;
        });
    }

    uint32_t add(std::string_view key, uint32_t pattern, uint32_t next, uint64_t version,
                 const HashSecret& secret) {
        const uint64_t begin = keys_.append(key.data(), key.size());
        const uint32_t number =
            entries_.add({begin, version, NEVER_REMOVED, count_of(key), pattern, next});
        const uint64_t hash = hash_of(key, secret);
        // A dead one of the same key is not looked for any more.
        const auto is_former = [&](uint32_t other) {
            return entries_[other].removed != NEVER_REMOVED && key_of(other) == key;
        };
        if (!slots_.replace(hash, number, is_former)) {
            slots_.add(hash, number,
                       [&](uint32_t other) { return hash_of(key_of(other), secret); });
        }
        return number;
    }

    void remove(uint32_t number, uint64_t version) { entries_.edit(number).removed = version; }

    template <class Visit>
    void each_array(Visit visit) {
        visit(entries_);
        visit(keys_);
        slots_.each_array(visit);
    }

    bool is_sound(uint32_t patterns) {
        for (uint32_t at = 0; at < entries_.count(); ++at) {
            const Subscriber& entry = entries_[at];
            if (entry.key_begin > keys_.size() ||
                entry.key_length > keys_.size() - entry.key_begin) {
                return false;
            }
            if (entry.pattern >= patterns || (entry.next != NONE && entry.next >= at)) return false;
        }
        return slots_.is_sound(entries_.size());
    }

private:
    FlatArray<Subscriber> entries_;
    FlatArray<char> keys_;
    Slots slots_;
};

}  // namespace twigcast::index
