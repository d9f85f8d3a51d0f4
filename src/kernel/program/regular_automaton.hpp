// Whether a text matches a regular expression, by states that are made when a text first needs
// them: the lazy determinisation of the machine in `regular.hpp`.
//
//     state   the steps at which threads may stand after the characters so far, whatever the way
//     class   characters that no step distinguishes; there is one between each two ends of ranges
//
// A state leads to another by a class; where that is known, a character costs one look-up.  Since a
// match may begin anywhere, each state but the first has a thread at the first step as well.
//
// Only whether there is a match is answered here, and only for machines that do not look at lines.
// Past MOST_ENTRIES nothing is answered: the threads are then followed one by one.
#pragma once

#include <map>
#include <unordered_map>

#include "program/regular.hpp"

namespace twigcast::program {

using namespace base;

class RegularAutomaton {
public:
    enum class Answer { no, yes, unknown };

    explicit RegularAutomaton(const Regular& regular) : regular_(regular) {
        for (const Regular::Range& range : regular.ranges) {
            bounds_.push_back(range.first);
            bounds_.push_back(range.last + 1);
        }
        std::sort(bounds_.begin(), bounds_.end());
        bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
        for (uint32_t character = 0; character < 128; ++character) {
            ascii_[character] = find_class(character);
        }
    }

    // Lines make whether a step leads on depend on characters around it.
    static bool serves(const Regular& regular) {
        return std::none_of(
            regular.steps.begin(), regular.steps.end(), [](const RegularStep& step) {
                return step.kind == RegularKind::line_start || step.kind == RegularKind::line_end;
            });
    }

    Answer search(std::string_view text, Work& work) {
        const size_t known = states_.size();
        const Answer answer = search(text);
        work.spend(1 + text.size() / 8);
        work.spend((states_.size() - known) * (bounds_.size() + regular_.steps.size()));
        return answer;
    }

private:
    static constexpr size_t MOST_ENTRIES = size_t{1} << 14;  // of all states, by class

    Answer search(std::string_view text) {
        if (states_.empty()) add_state({0}, true);
        uint32_t state = 0;
        for (size_t at = 0;;) {
            if (states_[state].accepts) return Answer::yes;
            if (states_[state].is_idle) {
                if (regular_.is_at_start) return Answer::no;
                while (at < text.size() && !regular_.begins[static_cast<unsigned char>(text[at])]) {
                    ++at;
                }
            }
            if (at >= text.size()) {
                return states_[state].accepts_at_end ? Answer::yes : Answer::no;
            }
            const unsigned char lead = static_cast<unsigned char>(text[at]);
            const uint32_t sort =
                lead < 0x80 ? (++at, ascii_[lead]) : find_class(take_character(text, at));
            const uint32_t next = states_[state].next[sort];
            state = next != NONE ? next : follow(state, sort);
            if (state == NONE) return Answer::unknown;
        }
    }

    struct State {
        std::vector<uint32_t> steps;  // that wait for a character
        bool accepts = false;         // a match is complete
        bool accepts_at_end = false;  // a match is complete if the text ends here
        bool is_idle = false;         // no match is under way
        std::vector<uint32_t> next;   // by class; NONE where not yet known
    };

    uint32_t find_class(uint32_t character) const {
        return static_cast<uint32_t>(std::upper_bound(bounds_.begin(), bounds_.end(), character) -
                                     bounds_.begin());
    }

    uint32_t follow(uint32_t state, uint32_t sort) {
        // All characters of a class are alike; the first is the end of a range, or no range has it.
        std::vector<uint32_t> reached;
        if (sort != 0) {
            for (const uint32_t step : states_[state].steps) {
                if (regular_.accepts(regular_.steps[step], bounds_[sort - 1])) {
                    reached.push_back(step + 1);
                }
            }
        }
        const bool is_idle = reached.empty();
        reached.push_back(0);
        const uint32_t next = add_state(std::move(reached), false, is_idle);
        if (next != NONE) states_[state].next[sort] = next;
        return next;
    }

    uint32_t add_state(std::vector<uint32_t> begins, bool at_start, bool is_idle = false) {
        State state;
        walk(std::move(begins), at_start, state);
        std::sort(state.steps.begin(), state.steps.end());
        state.is_idle = is_idle && !regular_.may_be_empty;
        const auto key =
            std::make_pair(state.steps, (state.accepts ? 1 : 0) | (state.accepts_at_end ? 2 : 0) |
                                            (state.is_idle ? 4 : 0));
        const auto [known, is_new] = known_.emplace(key, count_of(states_));
        if (!is_new) return known->second;
        if ((states_.size() + 1) * (bounds_.size() + 1) > MOST_ENTRIES) {
            known_.erase(known);
            return NONE;
        }
        state.next.assign(bounds_.size() + 1, NONE);
        states_.push_back(std::move(state));
        return count_of(states_) - 1;
    }

    // All that the steps lead to without a character.
    void walk(std::vector<uint32_t> waiting, bool at_start, State& state) {
        std::vector<uint8_t> met(regular_.steps.size());  // 1: only if the text ends here
        std::vector<std::pair<uint32_t, uint8_t>> left;
        for (const uint32_t step : waiting) left.emplace_back(step, uint8_t{2});
        while (!left.empty()) {
            const auto [number, when] = left.back();
            left.pop_back();
            if (met[number] >= when) continue;
            met[number] = when;
            const RegularStep& step = regular_.steps[number];
            switch (step.kind) {
                case RegularKind::split: left.emplace_back(step.second, when); [[fallthrough]];
                case RegularKind::jump: left.emplace_back(step.first, when); break;
                case RegularKind::save: left.emplace_back(number + 1, when); break;
                case RegularKind::text_start:
                    if (at_start) left.emplace_back(number + 1, when);
                    break;
                case RegularKind::text_end: left.emplace_back(number + 1, uint8_t{1}); break;
                case RegularKind::match:
                    (when == 2 ? state.accepts : state.accepts_at_end) = true;
                    break;
                case RegularKind::set:
                    if (when == 2) state.steps.push_back(number);
                    break;
                case RegularKind::line_start:
                case RegularKind::line_end: break;
            }
        }
    }

    const Regular& regular_;
    std::vector<uint32_t> bounds_;
    uint32_t ascii_[128];
    std::vector<State> states_;
    std::map<std::pair<std::vector<uint32_t>, int>, uint32_t> known_;
};

// The automata of a program; they serve one thread, for as many documents as it likes.
using RegularAutomata = std::unordered_map<const Regular*, RegularAutomaton>;

}  // namespace twigcast::program
