// Texts by characters: UTF-8 read, and the string functions that count or change
// characters.  All texts of documents and programs are well-formed UTF-8, but for half a surrogate
// pair that a subscription may spell; whatever the bytes are, nothing is read behind their end.
#pragma once

#include <cmath>

#include "base/number_text.hpp"
#include "base/utf_8.hpp"
#include "program/work.hpp"

namespace twigcast::program {

using namespace base;

inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

inline size_t count_characters(std::string_view text) {
    return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), continues));
}

// The offset behind the character at an offset.
inline size_t next_character(std::string_view text, size_t at) {
    ++at;
    while (at < text.size() && continues(text[at])) ++at;
    return at;
}

// The character at an offset, which moves behind it.
inline uint32_t take_character(std::string_view text, size_t& at) {
    const unsigned char lead = static_cast<unsigned char>(text[at]);
    const size_t end = next_character(text, at);
    uint32_t character = lead < 0x80   ? lead
                         : lead < 0xE0 ? lead & 0x1Fu
                         : lead < 0xF0 ? lead & 0x0Fu
                                       : lead & 0x07u;
    for (++at; at < end; ++at) {
        character = (character << 6 | (static_cast<unsigned char>(text[at]) & 0x3Fu)) & 0x1FFFFF;
    }
    return character;
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

inline double round_half_up(double number) {
    if (!std::isfinite(number) || number == 0) return number;
    if (number >= -0.5 && number < 0) return -0.0;
    const double below = std::floor(number);
    return number - below >= 0.5 ? below + 1 : below;
}

// The characters at the positions that are at least `begin` and less than `end`, counted from 1.
inline std::string_view substring(std::string_view text, double begin, double end) {
    if (!(begin < end)) return {};
    double position = 1;
    size_t at = 0;
    while (at < text.size() && !(position >= begin)) {
        at = next_character(text, at);
        ++position;
    }
    if (end == HUGE_VAL) return text.substr(at);
    const size_t start = at;
    while (at < text.size() && position < end) {
        at = next_character(text, at);
        ++position;
    }
    return text.substr(start, at - start);
}

// White space at the ends dropped, and each run within made one blank.
inline std::string_view normalize_space(std::string_view text, Work& work) {
    text = trimmed(text);
    const auto is_plain = [&] {
        for (size_t at = 0; at < text.size(); ++at) {
            if (is_space(text[at]) && (text[at] != ' ' || is_space(text[at + 1]))) return false;
        }
        return true;
    };
    work.spend(text.size() / 16);
    if (is_plain()) return text;
    char* const begin = work.make(text.size());
    char* end = begin;
    for (size_t at = 0; at < text.size(); ++at) {
        if (!is_space(text[at])) {
            *end++ = text[at];
        } else if (!is_space(text[at - 1])) {
            *end++ = ' ';
        }
    }
    work.shorten(end);
    return {begin, static_cast<size_t>(end - begin)};
}

// Each character of `from` becomes the one at its place in `to`, or nothing.
class Translation {
public:
    Translation(std::string_view from, std::string_view to) {
        size_t target = 0;
        for (size_t at = 0; at < from.size();) {
            const uint32_t character = take_character(from, at);
            const bool has_target = target < to.size();
            const size_t begin = target;
            if (has_target) target = next_character(to, target);
            changes_.push_back({character, to.substr(begin, target - begin)});
        }
        // The first change of a character counts.
        const auto less = [](const Change& one, const Change& two) { return one.from < two.from; };
        const auto same = [](const Change& one, const Change& two) { return one.from == two.from; };
        std::stable_sort(changes_.begin(), changes_.end(), less);
        changes_.erase(std::unique(changes_.begin(), changes_.end(), same), changes_.end());
        for (uint32_t at = 0; at < changes_.size() && changes_[at].from < 128; ++at) {
            ascii_[changes_[at].from] = at + 1;
        }
    }

    std::string_view apply(std::string_view text, Work& work) const {
        size_t size = 0;
        for (const Change& change : changes_) size = std::max(size, change.to.size());
        char* const begin = work.make(text.size() * std::max<size_t>(size, 1));
        char* end = begin;
        for (size_t at = 0; at < text.size();) {
            const size_t start = at;
            const Change* const change = find(take_character(text, at));
            const std::string_view to = change ? change->to : text.substr(start, at - start);
            end = std::copy(to.begin(), to.end(), end);
        }
        work.shorten(end);
        return {begin, static_cast<size_t>(end - begin)};
    }

private:
    struct Change {
        uint32_t from;
        std::string_view to;
    };

    const Change* find(uint32_t character) const {
        if (character < 128) {
            return ascii_[character] == 0 ? nullptr : &changes_[ascii_[character] - 1];
        }
        const auto at = std::lower_bound(
            changes_.begin(), changes_.end(), character,
            [](const Change& change, uint32_t wanted) { return change.from < wanted; });
        return at != changes_.end() && at->from == character ? &*at : nullptr;
    }

    std::vector<Change> changes_;
    uint32_t ascii_[128] = {};
};

}  // namespace twigcast::program
