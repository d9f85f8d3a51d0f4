// matches(), tokenize() and replace().
#pragma once

#include "program/interpreter_moments.hpp"
#include "program/regular.hpp"
#include "program/regular_automaton.hpp"

namespace twigcast::program {

inline RegularSearch& Interpreter::search_of(Part one) {
    return searches_.try_emplace(&one, *one.regular, work_).first->second;
}

inline bool Interpreter::matches(Part one, const Focus& focus) {
    const std::string_view text = text_at(child(one, 0), focus);
    if (RegularAutomaton::serves(*one.regular)) {
        const Regular& regular = *one.regular;
        const auto automaton = automata_.try_emplace(&regular, regular).first;
        const RegularAutomaton::Answer answer = automaton->second.search(text, work_);
        if (answer != RegularAutomaton::Answer::unknown) {
            return answer == RegularAutomaton::Answer::yes;
        }
    }
    return search_of(one).search(text, 0, true);
}

// An expression that matches nothing at all would separate or replace nothing.
inline void Interpreter::refuse_empty(RegularSearch& search) {
    if (search.search({}, 0, true)) fail("a regular expression that matches the empty text");
}

inline Sequence Interpreter::tokens(Part one, const Focus& focus) {
    const std::string_view text = text_at(child(one, 0), focus);
    RegularSearch& search = search_of(one);
    refuse_empty(search);
    Sequence all;
    if (text.empty()) return all;
    size_t begin = 0;
    while (search.search(text, begin, false)) {
        all.add(Item::of_text(text.substr(begin, search.found[0] - begin)));
        begin = search.found[1];
        Work::bound_items(all.size());
    }
    all.add(Item::of_text(text.substr(begin)));
    return all;
}

// What replaces a match: `$1` is a group, `\$` and `\\` are characters.
inline void Interpreter::put_replacement(std::string_view to, const Regular& regular,
                                         const std::vector<size_t>& found, std::string_view text,
                                         std::string& result) {
    const size_t groups = regular.slots / 2 - 1;
    for (size_t at = 0; at < to.size(); ++at) {
        if (regular.is_literal || (to[at] != '$' && to[at] != '\\')) {
            result.push_back(to[at]);
            continue;
        }
        const bool is_group = to[at] == '$';
        if (++at == to.size()) fail("a replacement that ends too early");
        if (!is_group) {
            if (to[at] != '$' && to[at] != '\\') fail("a replacement with a \\ that means nothing");
            result.push_back(to[at]);
            continue;
        }
        if (!is_digit(to[at])) fail("a replacement with a $ that names no group");
        size_t group = static_cast<size_t>(to[at] - '0');
        while (at + 1 < to.size() && is_digit(to[at + 1])) {  // as many digits as name a group
            const size_t longer = group * 10 + static_cast<size_t>(to[at + 1] - '0');
            if (longer > groups) break;
            group = longer;
            ++at;
        }
        if (group > groups || found[2 * group + 1] == RegularSearch::NOWHERE) continue;
        result += text.substr(found[2 * group], found[2 * group + 1] - found[2 * group]);
    }
}

inline Sequence Interpreter::replaced(Part one, const Focus& focus) {
    const std::string_view text = text_at(child(one, 0), focus);
    const std::string_view to = text_at(child(one, 2), focus);
    RegularSearch& search = search_of(one);
    refuse_empty(search);
    std::string result;
    const std::vector<size_t> nothing(one.regular->slots, RegularSearch::NOWHERE);
    put_replacement(to, *one.regular, nothing, text, result);  // refuses it, if it is none
    result.clear();
    size_t begin = 0;
    while (search.search(text, begin, false)) {
        result += text.substr(begin, search.found[0] - begin);
        put_replacement(to, *one.regular, search.found, text, result);
        begin = search.found[1];
        work_.spend(1 + to.size() / 16);
        if (result.size() > Work::MOST_BYTES) throw BudgetExceeded{};
    }
    result += text.substr(begin);
    return Item::of_text(work_.keep(result));
}

}  // namespace twigcast::program
