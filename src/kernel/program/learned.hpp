// What a program has learned from the documents so far, and keeps for those to come.
//
//     tests      its node tests in terms of the documents' labels
//     by_name    of residuals that depend on the name of an element alone: where they hold
//     automata   the states of its regular expressions
//
// Invariant: tests and answers are about the names of one names_version; `follow` makes them anew
// when a document has others.
#pragma once

#include "program/label_test.hpp"
#include "program/regular_automaton.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

enum class Known : uint8_t { unknown, yes, no };

struct Learned {
    std::vector<LabelTest> tests;
    std::vector<std::vector<Known>> by_name;  // by instruction, by name, as far as asked
    RegularAutomata automata;

    void follow(const Program& program, const Document& document) {
        if (names_version_ == document.names_version()) return;
        names_version_ = document.names_version();
        tests = LabelTest::make_all(program, document);
        by_name.clear();
    }

private:
    uint64_t names_version_ = ~uint64_t{0};
};

}  // namespace twigcast::program
