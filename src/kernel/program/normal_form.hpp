// The normal forms of Unicode: characters taken apart, marks in order, and put together again.
//
//     é  ──NFD──► e ´  ──NFC──► é          ﬁ  ──NFKD──► f i
//
// The build makes the tables of Python's `unicodedata`.  The syllables of Hangul are computed.
#pragma once

#include "base/normal_forms.hpp"
#include "program/characters.hpp"

namespace twigcast::program {

using namespace base;

class NormalForm {
public:
    NormalForm(bool is_compatible, bool is_composed)
        : is_compatible_(is_compatible), is_composed_(is_composed) {}

    std::string_view apply(std::string_view text, Work& work) {
        const auto is_ascii = [](char byte) { return static_cast<signed char>(byte) >= 0; };
        if (std::all_of(text.begin(), text.end(), is_ascii)) return text;
        work.spend(text.size());
        for (size_t at = 0; at < text.size();) take_apart(take_character(text, at));
        put_in_order();
        if (is_composed_) put_together();
        std::string result;
        for (const uint32_t character : characters_) put_character(result, character);
        return work.keep(result);
    }

private:
    static constexpr uint32_t SYLLABLES = 0xAC00, SYLLABLE_COUNT = 11172;
    static constexpr uint32_t LEADING = 0x1100, VOWELS = 0x1161, TRAILING = 0x11A7;
    static constexpr uint32_t LEADING_COUNT = 19, VOWEL_COUNT = 21, TRAILING_COUNT = 28;

    void take_apart(uint32_t character) {
        const uint32_t syllable = character - SYLLABLES;
        if (syllable < SYLLABLE_COUNT) {
            characters_.push_back(LEADING + syllable / (VOWEL_COUNT * TRAILING_COUNT));
            characters_.push_back(VOWELS + syllable / TRAILING_COUNT % VOWEL_COUNT);
            const uint32_t trailing = syllable % TRAILING_COUNT;
            if (trailing != 0) characters_.push_back(TRAILING + trailing);
            return;
        }
        const auto found = std::lower_bound(
            std::begin(APART), std::end(APART), character,
            [](const Apart& entry, uint32_t wanted) { return entry.character < wanted; });
        const bool is_known = found != std::end(APART) && found->character == character;
        if (!is_known || (!is_compatible_ && found->canonical == 0)) {
            characters_.push_back(character);
            return;
        }
        const uint32_t begin = found->begin + (is_compatible_ ? found->canonical : 0u);
        const uint32_t count = is_compatible_ ? found->compatible : found->canonical;
        for (uint32_t at = begin; at < begin + count; ++at) characters_.push_back(PIECES[at]);
    }

    static uint32_t class_of(uint32_t character) {
        const auto found = std::lower_bound(
            std::begin(MARKS), std::end(MARKS), character,
            [](const Mark& entry, uint32_t wanted) { return entry.character < wanted; });
        return found != std::end(MARKS) && found->character == character ? found->rank : 0;
    }

    void put_in_order() {
        const auto by_class = [](uint32_t one, uint32_t two) {
            return class_of(one) < class_of(two);
        };
        for (auto at = characters_.begin(); at != characters_.end();) {
            if (class_of(*at) == 0) {
                ++at;
                continue;
            }
            auto end = at;
            while (end != characters_.end() && class_of(*end) != 0) ++end;
            std::stable_sort(at, end, by_class);
            at = end;
        }
    }

    // The character that two are together, or 0.
    static uint32_t together(uint32_t first, uint32_t second) {
        const uint32_t leading = first - LEADING, vowel = second - VOWELS;
        if (leading < LEADING_COUNT && vowel < VOWEL_COUNT) {
            return SYLLABLES + (leading * VOWEL_COUNT + vowel) * TRAILING_COUNT;
        }
        const uint32_t syllable = first - SYLLABLES, trailing = second - TRAILING;
        if (syllable < SYLLABLE_COUNT && syllable % TRAILING_COUNT == 0 && trailing > 0 &&
            trailing < TRAILING_COUNT) {
            return first + trailing;
        }
        const auto before = [](const Pair& entry, const std::pair<uint32_t, uint32_t>& wanted) {
            return std::make_pair(entry.first, entry.second) < wanted;
        };
        const auto found = std::lower_bound(std::begin(PAIRS), std::end(PAIRS),
                                            std::make_pair(first, second), before);
        const bool is_known =
            found != std::end(PAIRS) && found->first == first && found->second == second;
        return is_known ? found->together : 0;
    }

    // A mark joins the last character that is none, unless one of its class or higher stands
    // between them.
    void put_together() {
        size_t kept = 0, starter = 0;
        bool has_starter = false;
        uint32_t last = 0;
        for (const uint32_t character : characters_) {
            const uint32_t rank = class_of(character);
            const bool is_next = kept == starter + 1;
            const bool is_free = has_starter && (is_next || (last < rank && last != 0));
            const uint32_t joined = is_free ? together(characters_[starter], character) : 0;
            if (joined != 0) {
                characters_[starter] = joined;
                continue;
            }
            if (rank == 0) {
                starter = kept;
                has_starter = true;
            }
            last = rank;
            characters_[kept++] = character;
        }
        characters_.resize(kept);
    }

    const bool is_compatible_, is_composed_;
    std::vector<uint32_t> characters_;
};

}  // namespace twigcast::program
