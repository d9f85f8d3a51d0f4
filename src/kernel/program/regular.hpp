// Regular expressions, simulated: all threads of the machine side by side, character by character.
//
//     step          leads on
//     set           to the next step, where the character is in the ranges
//     split         to two steps, of which the first is preferred
//     save          notes the place in a slot: 2n and 2n + 1 are the ends of group n
//     text_start …  to the next step, where the place is such a one
//
// `twigcast.language.regular` makes the machine.  Threads stand in the order of preference and each
// step holds at most one of them, so what is found is what a search by trial and error would find
// first, in time proportional to the text times the steps, whatever the expression.  Where
// no thread is under way, bytes that begin no match are passed over, and so is all behind the begin
// of the text if a match must begin there.
#pragma once

#include <cstring>

#include "program/characters.hpp"

namespace twigcast::program {

using namespace base;

enum class RegularKind : uint32_t {
    set,
    split,
    jump,
    save,
    text_start,
    text_end,
    line_start,
    line_end,
    match,
};

struct RegularStep {
    RegularKind kind;
    uint32_t first, second;
};

struct Regular {
    struct Range {
        uint32_t first, last;
    };

    std::vector<RegularStep> steps;
    std::vector<Range> ranges;
    uint32_t slots = 0;
    bool is_literal = false;    // what replaces a match is no template
    bool may_be_empty = false;  // some match has no characters
    bool is_at_start = true;    // every match begins where the text begins
    bool begins[256] = {};      // bytes that a match may begin with

    // Of the bytes that Python makes; false where they are none.
    bool read(std::string_view bytes) {
        constexpr uint32_t MOST = 1 << 20;
        constexpr size_t HEADER = 4;
        if (bytes.size() % sizeof(uint32_t) != 0) return false;
        std::vector<uint32_t> numbers(bytes.size() / sizeof(uint32_t));
        if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
        if (numbers.size() < HEADER || numbers[0] == 0 || numbers[0] > MOST || numbers[1] > MOST ||
            numbers[2] > MOST / 4 ||
            numbers.size() != HEADER + size_t{3} * numbers[0] + size_t{2} * numbers[1]) {
            return false;
        }
        slots = 2 * numbers[2] + 2;
        is_literal = numbers[3] != 0;
        const uint32_t* at = numbers.data() + HEADER;
        const uint32_t* const end = at + size_t{3} * numbers[0];
        for (; at < end; at += 3) {
            if (at[0] > static_cast<uint32_t>(RegularKind::match)) return false;
            steps.push_back({static_cast<RegularKind>(at[0]), at[1], at[2]});
        }
        const uint32_t* const last = numbers.data() + numbers.size();
        for (; at < last; at += 2) ranges.push_back({at[0], at[1]});
        if (!is_sound()) return false;
        find_begins();
        return true;
    }

    bool accepts(const RegularStep& step, uint32_t character) const {
        const Range* const begin = ranges.data() + step.first;
        const Range* const end = begin + step.second;
        if (step.second == 1) return character - begin->first <= begin->last - begin->first;
        const Range* const found = std::lower_bound(
            begin, end, character,
            [](const Range& range, uint32_t wanted) { return range.last < wanted; });
        return found != end && found->first <= character;
    }

private:
    // What the first step, and all that it leads to without a character, say about where a match
    // begins.
    void find_begins() {
        std::vector<uint8_t> met(steps.size());  // 1: behind the begin of the text, 2: anywhere
        std::vector<std::pair<uint32_t, uint8_t>> waiting{{0, 2}};
        while (!waiting.empty()) {
            const auto [number, where] = waiting.back();
            waiting.pop_back();
            if (met[number] >= where) continue;
            met[number] = where;
            const RegularStep& step = steps[number];
            switch (step.kind) {
                case RegularKind::split: waiting.push_back({step.second, where}); [[fallthrough]];
                case RegularKind::jump: waiting.push_back({step.first, where}); break;
                case RegularKind::text_start: waiting.push_back({number + 1, 1}); break;
                case RegularKind::save:
                case RegularKind::text_end:
                case RegularKind::line_start:
                case RegularKind::line_end: waiting.push_back({number + 1, where}); break;
                case RegularKind::match:
                    may_be_empty = true;
                    is_at_start = is_at_start && where == 1;
                    break;
                case RegularKind::set:
                    is_at_start = is_at_start && where == 1;
                    for (uint32_t at = 0; at < step.second; ++at) allow(ranges[step.first + at]);
                    break;
            }
        }
    }

    void allow(const Range& range) {
        for (uint32_t byte = range.first; byte < 128 && byte <= range.last; ++byte) {
            begins[byte] = true;
        }
        if (range.last >= 128) std::fill(begins + 128, begins + 256, true);
    }

    bool is_sound() const {
        if (steps.back().kind != RegularKind::match) return false;
        for (const RegularStep& step : steps) {
            if (step.kind == RegularKind::set &&
                (step.first > ranges.size() || step.second > ranges.size() - step.first)) {
                return false;
            }
            const bool leads = step.kind == RegularKind::split || step.kind == RegularKind::jump;
            if (leads && (step.first >= steps.size() || step.second >= steps.size())) return false;
            if (step.kind == RegularKind::save && step.first >= slots) return false;
        }
        return true;
    }
};

class RegularSearch {
public:
    RegularSearch(const Regular& regular, Work& work) : regular_(regular), work_(work) {}

    // Whether there is a match that begins at an offset or behind it; the first one's slots are
    // then in `found`, as offsets or NOWHERE.  Where only that is asked, the search ends at once.
    static constexpr size_t NOWHERE = ~size_t{0};
    std::vector<size_t> found;

    bool search(std::string_view text, size_t begin, bool only_whether) {
        const size_t slots = only_whether ? 0 : regular_.slots;
        start(now_, slots);
        start(next_, slots);
        captures_.assign(slots, NOWHERE);
        text_ = text;
        bool is_found = false;
        for (size_t at = begin;;) {
            if (!is_found && now_.steps.empty()) {
                if (regular_.is_at_start && at != 0) break;
                const size_t before = at;
                while (!regular_.may_be_empty && at < text.size() &&
                       !regular_.begins[static_cast<unsigned char>(text[at])]) {
                    ++at;
                }
                work_.spend((at - before) / 16);
            }
            if (!is_found) {
                std::fill(captures_.begin(), captures_.end(), NOWHERE);
                add(now_, 0, at);
            }
            if (now_.steps.empty() && is_found) break;
            work_.spend(1 + now_.steps.size());
            const bool at_end = at >= text.size();
            size_t behind = at;
            const uint32_t character = at_end ? 0 : take_character(text, behind);
            for (size_t thread = 0; thread < now_.steps.size(); ++thread) {
                const uint32_t number = now_.steps[thread];
                const RegularStep& step = regular_.steps[number];
                const size_t* const captured = now_.captures.data() + thread * slots;
                if (step.kind == RegularKind::match) {
                    if (only_whether) return true;
                    is_found = true;
                    found.assign(captured, captured + slots);
                    break;  // threads behind this one are not preferred
                }
                if (at_end || !regular_.accepts(step, character)) continue;
                captures_.assign(captured, captured + slots);
                add(next_, number + 1, behind);
            }
            if (at_end) break;
            std::swap(now_, next_);
            clear(next_);
            at = behind;
        }
        clear(now_);
        clear(next_);
        return is_found;
    }

private:
    struct Threads {
        std::vector<uint32_t> steps;   // in the order of preference
        std::vector<size_t> captures;  // of each
        std::vector<bool> has;         // by step
    };
    struct Waiting {
        uint32_t step;
        size_t slot, value;  // to be put back first; NOWHERE for none
    };

    void start(Threads& threads, size_t) {
        threads.steps.clear();
        threads.captures.clear();
        threads.has.assign(regular_.steps.size(), false);
    }
    void clear(Threads& threads) {
        threads.steps.clear();
        threads.captures.clear();
        std::fill(threads.has.begin(), threads.has.end(), false);
    }

    bool is_at(RegularKind kind, size_t at) const {
        if (kind == RegularKind::text_start) return at == 0;
        if (kind == RegularKind::text_end) return at == text_.size();
        if (kind == RegularKind::line_start) {
            return at == 0 || (text_[at - 1] == '\n' && at < text_.size());
        }
        return at == text_.size() || text_[at] == '\n';
    }

    // A thread at a step and at all that it leads to without a character, with what is captured.
    void add(Threads& threads, uint32_t first, size_t at) {
        waiting_.push_back({first, NOWHERE, 0});
        while (!waiting_.empty()) {
            const Waiting one = waiting_.back();
            waiting_.pop_back();
            if (one.slot != NOWHERE) {
                captures_[one.slot] = one.value;
                continue;
            }
            if (threads.has[one.step]) continue;
            threads.has[one.step] = true;
            const RegularStep& step = regular_.steps[one.step];
            switch (step.kind) {
                case RegularKind::split:
                    waiting_.push_back({step.second, NOWHERE, 0});
                    waiting_.push_back({step.first, NOWHERE, 0});
                    break;
                case RegularKind::jump: waiting_.push_back({step.first, NOWHERE, 0}); break;
                case RegularKind::save:
                    if (!captures_.empty()) {
                        waiting_.push_back({0, step.first, captures_[step.first]});
                        captures_[step.first] = at;
                    }
                    waiting_.push_back({one.step + 1, NOWHERE, 0});
                    break;
                case RegularKind::text_start:
                case RegularKind::text_end:
                case RegularKind::line_start:
                case RegularKind::line_end:
                    if (is_at(step.kind, at)) waiting_.push_back({one.step + 1, NOWHERE, 0});
                    break;
                case RegularKind::set:
                case RegularKind::match:
                    threads.steps.push_back(one.step);
                    threads.captures.insert(threads.captures.end(), captures_.begin(),
                                            captures_.end());
                    break;
            }
        }
    }

    const Regular& regular_;
    Work& work_;
    std::string_view text_;
    Threads now_, next_;
    std::vector<size_t> captures_;
    std::vector<Waiting> waiting_;
};

}  // namespace twigcast::program
