// Names as documents write them, each checked once and numbered.
//
//     xlink:href ──► 7: prefix 6 (`xlink`), local part `href`; what the sink calls it, in the
//                       namespace that the prefix had last
//
// Numbers are kept from document to document, so a name that was met before costs one look-up, and
// what a sink makes of it is looked up with it.  Mostly it costs less: after a name comes the same
// as last time, and to compare the bytes with that is quicker than to find their end and hash.
//
// A name of ASCII is checked here.  Any other is shown to expat, as the next element of a document
// that holds nothing else.  A name that is none, and one more than MOST, has no number.
#pragma once

#include <memory>

#include "base/sixteen.hpp"
#include "xml/expat.hpp"
#include "xml/names.hpp"

namespace twigcast::xml {

using namespace base;

// Whether two stretches of as many bytes are equal; at least 16 can be read at each.  Names are
// short and of all lengths, and the processor would foresee a branch for each length wrongly.
inline bool are_equal(const char* one, const char* other, size_t size) {
    const uint64_t equal = Sixteen::load(one).equal(Sixteen::load(other)).marks();
    if (size > 16) return std::memcmp(one, other, size) == 0;
    return (~equal & first_marks(static_cast<uint32_t>(size))) == 0;
}

// Sixteen bytes that can be read, of bytes that may be fewer; zeros behind them.
class Padded {
public:
    Padded(const char* bytes, size_t left) : bytes_(bytes) {
        if (left >= 16) return;
        std::memcpy(copy_, bytes, left);
        bytes_ = copy_;
    }
    Padded(const Padded&) = delete;
    const char* bytes() const { return bytes_; }

private:
    const char* bytes_;
    char copy_[16] = {};
};

struct alignas(64) WrittenName {
    enum Role : uint8_t { plain, prefixed, declares_default, declares_prefix };
    // What the sink calls the name in a namespace.
    struct Known {
        uint32_t version = 0;  // of the sink's numbers, from 1
        uint32_t space = 0, number = 0;
    };

    uint32_t begin;
    uint16_t length, local_at;
    uint32_t prefix;        // the number of the prefix, also of one that is declared
    uint32_t tag = 0;       // the start tag that it was an attribute of last
    uint32_t follower = 0;  // the name that came after it last
    Role role;
    Known element, attribute;
};

class WrittenNames {
public:
    static constexpr uint32_t XML = 0;  // the number of `xml`, the prefix that is always bound

    explicit WrittenNames(const ExpatTable* expat) : expat_(expat), parser_(nullptr, Free{expat}) {
        clear();
    }
    WrittenNames(const WrittenNames&) = delete;

    void clear() {
        slots_.assign(256, NONE);
        names_.clear();
        bytes_.clear();
        last_ = of("xml");
    }

    bool are_many() const { return names_.size() > MOST / 2; }
    uint32_t count() const { return count_of(names_); }
    WrittenName& operator[](uint32_t number) { return names_[number]; }
    std::string_view local_of(const WrittenName& name) const {
        return {text_of(name) + name.local_at, size_t{name.length} - name.local_at};
    }

    // Start from the first name of a document.
    void start() { last_ = XML; }

    // The number of the name that the bytes begin with, if it is the one that is expected; else
    // NONE.  Of the bytes there are more than the name and at least 16, or `left`.
    uint32_t expect(const char* bytes, size_t left) {
        const uint32_t number = names_[last_].follower;
        const WrittenName& name = names_[number];
        if (left < std::max<size_t>(name.length + size_t{1}, 16)) return NONE;
        if (!are_equal(text_of(name), bytes, name.length) || !ends_name(bytes[name.length])) {
            return NONE;
        }
        return last_ = number;
    }

    // The number of the next name, NONE if it has none.
    uint32_t next(std::string_view name, size_t left) {
        const uint32_t number = of(name, left);
        if (number == NONE) return NONE;
        names_[last_].follower = number;
        return last_ = number;
    }

    // The number of a name, NONE if it has none.  From its start `left` bytes can be read.
    uint32_t of(std::string_view name, size_t left) {
        const Padded padded(name.data(), left);
        for (size_t slot = hash(padded.bytes(), name.size());; ++slot) {
            const uint32_t number = slots_[slot & (slots_.size() - 1)];
            if (number == NONE) return add(name);
            const WrittenName& known = names_[number];
            if (known.length == name.size() &&
                are_equal(text_of(known), padded.bytes(), name.size())) {
                return number;
            }
        }
    }
    uint32_t of(std::string_view name) { return of(name, name.size()); }

private:
    static constexpr uint32_t MOST = 4096;
    static constexpr size_t LONGEST = 1000;
    static constexpr uint32_t MOST_SHOWN = 256;

    static bool ends_name(char byte) {
        return static_cast<unsigned char>(byte) <= ' ' || byte == '>' || byte == '/' || byte == '=';
    }

    const char* text_of(const WrittenName& name) const { return bytes_.data() + name.begin; }

    // Of bytes of which at least 16 can be read.
    static uint64_t hash(const char* bytes, size_t length) {
        if (length > 16) return hash_of({bytes, length}, hash_secret);
        const uint64_t low = load<uint64_t>(bytes) & MASKS[std::min<size_t>(length, 8)];
        const uint64_t high =
            load<uint64_t>(bytes + 8) & MASKS[length - std::min<size_t>(length, 8)];
        return hash_of(low, high, hash_secret);
    }
    static constexpr uint64_t MASKS[] = {0,
                                         0xFF,
                                         0xFFFF,
                                         0xFFFFFF,
                                         0xFFFFFFFF,
                                         0xFFFFFFFFFF,
                                         0xFFFFFFFFFFFF,
                                         0xFFFFFFFFFFFFFF,
                                         0xFFFFFFFFFFFFFFFF};

    uint32_t add(std::string_view name) {
        if (names_.size() >= MOST || name.size() > LONGEST) return NONE;
        const size_t colon = name.find(':');
        WrittenName added{};
        added.length = static_cast<uint16_t>(name.size());
        if (colon == std::string_view::npos) {
            if (!is_part(name)) return NONE;
            added.role = name == "xmlns" ? WrittenName::declares_default : WrittenName::plain;
        } else {
            const std::string_view local = name.substr(colon + 1);
            if (!is_part(local)) return NONE;
            const bool declares = name.substr(0, colon) == "xmlns";
            if (declares && (local == "xml" || local == "xmlns")) return NONE;
            added.role = declares ? WrittenName::declares_prefix : WrittenName::prefixed;
            added.prefix = of(declares ? local : name.substr(0, colon));
            if (added.prefix == NONE) return NONE;
            added.local_at = static_cast<uint16_t>(colon + 1);
        }
        added.begin = count_of(bytes_);
        bytes_.append(name).append(16, '\0');
        names_.push_back(added);
        if (names_.size() * 2 > slots_.size()) {
            slots_.assign(slots_.size() * 2, NONE);
            for (uint32_t number = 0; number < count(); ++number) put(number);
        } else {
            put(count() - 1);
        }
        return count() - 1;
    }

    void put(uint32_t number) {
        size_t slot = hash(text_of(names_[number]), names_[number].length);
        while (slots_[slot & (slots_.size() - 1)] != NONE) ++slot;
        slots_[slot & (slots_.size() - 1)] = number;
    }

    // Whether it is a name without a colon.
    bool is_part(std::string_view name) {
        if (name.empty()) return false;
        bool is_ascii = true;
        for (size_t at = 0; at < name.size(); ++at) {
            const unsigned char byte = static_cast<unsigned char>(name[at]);
            if (byte >= 0x80) {
                is_ascii = false;
                continue;
            }
            const bool starts = static_cast<unsigned char>((byte | 0x20) - 'a') < 26 || byte == '_';
            const bool goes_on =
                static_cast<unsigned char>(byte - '0') < 10 || byte == '-' || byte == '.';
            if (!starts && (at == 0 || !goes_on)) return false;
        }
        return is_ascii || expat_takes(name);
    }

    // Expat keeps every name that it has met, so that after some it starts a new document.
    bool expat_takes(std::string_view name) {
        if (shown_++ % MOST_SHOWN == 0) parser_.reset();
        if (parser_ == nullptr) {
            parser_.reset(expat_->create("utf-8", nullptr, nullptr));
            if (parser_ == nullptr) return false;
            expat_->set_element_handler(parser_.get(), count_element, nullptr);
            expat_->set_user_data(parser_.get(), this);
            expat_->parse(parser_.get(), "<names>", 7, 0);
        }
        const uint32_t before = taken_;
        const std::string element = std::string("<").append(name).append("/>");
        const int size = static_cast<int>(element.size());
        const bool is_name =
            expat_->parse(parser_.get(), element.data(), size, 0) && taken_ == before + 1;
        if (!is_name) parser_.reset();
        return is_name;
    }

    static void count_element(void* names, const char*, const char**) {
        ++static_cast<WrittenNames*>(names)->taken_;
    }

    struct Free {
        const ExpatTable* expat;
        void operator()(ExpatParser* parser) const { expat->free(parser); }
    };

    const ExpatTable* const expat_;
    std::unique_ptr<ExpatParser, Free> parser_;
    uint32_t shown_ = 0, taken_ = 0;  // names, by expat
    std::string bytes_;
    std::vector<WrittenName> names_;
    uint32_t last_ = XML;
    std::vector<uint32_t> slots_;  // a power of two of them, at most half full
};

}  // namespace twigcast::xml
