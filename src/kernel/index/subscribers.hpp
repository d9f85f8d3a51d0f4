// Who subscribed to what: keys, and for each pattern its audience, the array of its subscribers.
//
//     audience ──► members     … 12 7 31 8 _ _ _ _ …      who is there now, in no order, and room
//         └──────► departures  31 at version 90 ──► 5 at version 84 ──►       who left, and when
//
//     keys         alicebobcarol…       one behind the other, in the order of their numbers
//     key_ends     0 5 8 13 …           where each begins and ends, as in an array of Arrow
//
// A subscription has the next number, which means it for as long as there is this index.  When it
// ends, the last member takes its place.  Its number and its key stay until the index is rebuilt:
// an answer given at some moment can be expanded later and still names those who were there then.
// They are the members whose number is lower than the count of that moment, and those who left
// since.  Where no member has a higher number, naming them is a copy of the array.
//
// An array that is full moves to one with twice the room at the end of `members`; the last one just
// becomes longer.  What an array leaves behind is lost until the index is rebuilt: together less
// than the arrays.  An audience of one needs no array.
//
// Cost: to add and to remove a subscription is O(1), however many others the pattern has; to name
// an audience is a copy of four bytes each.  Rejected: lists, each entry of which is a cache miss;
// to mark in the array who left, which every later answer would have to look at.
#pragma once

#include "base/common.hpp"
#include "base/flat_array.hpp"
#include "base/hash.hpp"
#include "base/slots.hpp"

namespace twigcast::index {

using namespace base;

struct Audience {
    uint32_t begin = NONE;  // of its array in the members; where there is room for one, that one
    uint32_t capacity = 1;
    uint32_t living = 0;       // how many are there now
    uint32_t newest = 0;       // no member has a higher number
    uint32_t departed = NONE;  // who left last, among the departures
};

// When a document met the index: how many updates and how many subscriptions there had been.
struct Moment {
    uint64_t version = 0;
    uint32_t subscribers = 0;
};

struct Subscriber {
    uint32_t pattern;
    uint32_t place;  // in the audience of the pattern; NONE for one who left
};

// All keys, where they lie.  They stay there for as long as this is kept, also when more are added;
// those of a mapped file, for as long as it is mapped.
struct Keys {
    uint32_t count = 0;
    const char* texts = nullptr;
    const int64_t* ends = nullptr;
    std::shared_ptr<const void> texts_memory, ends_memory;

    std::string_view operator[](uint32_t number) const {
        return {texts + ends[number], static_cast<size_t>(ends[number + 1] - ends[number])};
    }
    void prefetch_end(uint32_t number) const { __builtin_prefetch(ends + number); }
    void prefetch(uint32_t number) const { __builtin_prefetch(texts + ends[number]); }
};

class Subscribers {
public:
    Subscribers() { key_ends_.add(0); }

    const Subscriber& operator[](uint32_t number) const { return entries_[number]; }
    uint32_t count() const { return entries_.count(); }
    bool is_living(uint32_t number) const { return entries_[number].place != NONE; }

    template <class Visit>
    void each_living(Visit visit) const {
        for (uint32_t at = 0; at < count(); ++at) {
            if (is_living(at)) visit(at);
        }
    }

    Keys keys() const {
        return {count(), keys_.data(), key_ends_.data(), keys_.memory(), key_ends_.memory()};
    }
    // Whether a key left and came again, so that it has several numbers.
    bool has_repeated_keys() const { return has_repeated_keys_; }
    std::string_view key_of(uint32_t number) const {
        const int64_t begin = key_ends_[number];
        return {keys_.data() + begin, static_cast<size_t>(key_ends_[number + 1] - begin)};
    }

    // The subscription of that key that is there now, or NONE.
    uint32_t find(std::string_view key, const HashSecret& secret) const {
        return slots_.find(hash_of(key, secret), [&](uint32_t number) {
            return is_living(number) && key_of(number) == key;
        });
    }

    // The members of an audience, where they lie.
    const uint32_t* members(const Audience& audience) const {
        return audience.capacity == 1 ? &audience.begin : members_.data() + audience.begin;
    }

    // Ask for the memory that `name` will copy; of a long array, for its beginning.
    void prefetch(const Audience& audience) const {
        constexpr uint32_t LINE = 16, MOST = 8 * LINE;  // numbers of a cache line
        const uint32_t count = std::min(audience.living, MOST);
        for (uint32_t at = 0; at < count; at += LINE) __builtin_prefetch(members(audience) + at);
    }

    // Write down who of an audience was there at a moment.
    template <class Numbers>
    void name(const Audience& audience, const Moment& moment, Numbers& numbers) const {
        const uint32_t* const first = members(audience);
        const uint32_t* const last = first + audience.living;
        const auto was_there = [&](uint32_t number) { return number < moment.subscribers; };
        if (was_there(audience.newest)) {
            numbers.append(first, last);
        } else {
            std::for_each(first, last, [&](uint32_t number) {
                if (was_there(number)) numbers.add(number);
            });
        }
        for (uint32_t at = audience.departed; at != NONE; at = departures_[at].next) {
            const Departure& departure = departures_[at];
            if (departure.version <= moment.version) break;
            if (was_there(departure.subscriber)) numbers.add(departure.subscriber);
        }
    }

    // Have room for so many in an audience that is empty.
    void reserve(Audience& audience, uint32_t count) {
        if (count > audience.capacity) move(audience, count);
    }

    void add(std::string_view key, uint32_t pattern, Audience& audience, const HashSecret& secret) {
        keys_.append(key.data(), key.size());
        key_ends_.add(static_cast<int64_t>(keys_.size()));
        const uint32_t number = entries_.add({pattern, audience.living});
        const uint64_t hash = hash_of(key, secret);
        // A dead one of the same key is not looked for any more.
        const auto is_former = [&](uint32_t other) {
            return !is_living(other) && key_of(other) == key;
        };
        if (slots_.replace(hash, number, is_former)) {
            has_repeated_keys_ = true;
        } else {
            slots_.add(hash, number,
                       [&](uint32_t other) { return hash_of(key_of(other), secret); });
        }
        if (audience.living == audience.capacity) move(audience, audience.capacity * 2);
        put(audience, audience.living++, number);
        audience.newest = number;
    }

    void remove(uint32_t number, Audience& audience, uint64_t version) {
        const uint32_t place = entries_[number].place;
        const uint32_t last = members(audience)[--audience.living];
        put(audience, place, last);
        entries_.edit(last).place = place;
        entries_.edit(number).place = NONE;
        departures_.push_back({version, number, audience.departed});
        audience.departed = count_of(departures_) - 1;
    }

    // Lay the arrays of all audiences one behind the other, without room for more.
    template <class Audiences>
    void pack(Audiences& audiences) {
        std::vector<uint32_t> packed;
        for (uint32_t at = 0; at < audiences.count(); ++at) {
            Audience& audience = audiences.edit(at);
            const uint32_t* const first = members(audience);
            if (audience.living <= 1) {
                audience.begin = audience.living == 0 ? NONE : *first;
                audience.capacity = 1;
                continue;
            }
            audience.begin = count_of(packed);
            audience.capacity = audience.living;
            packed.insert(packed.end(), first, first + audience.living);
        }
        members_.swap_with(packed);
    }

    // Those that a file has, which is of an index without dead.
    template <class Visit>
    void each_array(Visit visit) {
        visit(entries_);
        visit(keys_);
        visit(key_ends_);
        visit(members_);
        slots_.each_array(visit);
    }
    size_t departures_size() const { return departures_.capacity() * sizeof(Departure); }

    // Whether the keys are where they should be, and each subscription is a member of one audience.
    // Packed arrays that share no member do not overlap.
    template <class Audiences>
    bool is_sound(const Audiences& audiences) {
        if (key_ends_.size() != entries_.size() + 1 || key_ends_[0] != 0) return false;
        for (uint32_t at = 0; at < count(); ++at) {
            if (key_ends_[at + 1] < key_ends_[at]) return false;
        }
        if (static_cast<uint64_t>(key_ends_[count()]) > keys_.size()) return false;
        uint64_t living = 0;
        for (uint32_t at = 0; at < audiences.count(); ++at) {
            const Audience& audience = audiences[at];
            if (audience.capacity != std::max<uint32_t>(audience.living, 1)) return false;
            if (audience.capacity > 1 && (audience.begin > members_.size() ||
                                          audience.capacity > members_.size() - audience.begin)) {
                return false;
            }
            if (audience.departed != NONE) return false;
            for (uint32_t place = 0; place < audience.living; ++place) {
                const uint32_t number = members(audience)[place];
                if (number > audience.newest || number >= count()) return false;
                if (entries_[number].pattern != at || entries_[number].place != place) return false;
            }
            living += audience.living;
        }
        return living == count() && slots_.is_sound(entries_.size());
    }

private:
    struct Departure {
        uint64_t version;
        uint32_t subscriber;
        uint32_t next;  // who left the same audience before
    };

    void put(Audience& audience, uint32_t place, uint32_t number) {
        (audience.capacity == 1 ? audience.begin : members_.edit(audience.begin + place)) = number;
    }

    // Give an audience more room.
    void move(Audience& audience, uint32_t capacity) {
        if (audience.capacity > 1 && members_.size() - audience.begin == audience.capacity) {
            members_.extend(capacity - audience.capacity, NONE);
        } else {
            const size_t begin = members_.extend(capacity, NONE);
            std::copy_n(members(audience), audience.living, &members_.edit(begin));
            audience.begin = static_cast<uint32_t>(begin);
        }
        audience.capacity = capacity;
    }

    FlatArray<Subscriber> entries_;
    FlatArray<char> keys_;
    FlatArray<int64_t> key_ends_;
    FlatArray<uint32_t> members_;
    Slots slots_;
    bool has_repeated_keys_ = false;
    std::vector<Departure> departures_;
};

}  // namespace twigcast::index
