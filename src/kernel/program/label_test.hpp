// A node test in terms of one document's labels: label & mask == wanted, or, where names of several
// numbers pass, by number.
#pragma once

#include "program/program.hpp"
#include "xml/document.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

struct LabelTest {
    uint32_t mask;
    uint32_t wanted;
    std::vector<bool> names;

    bool accepts(uint32_t label) const {
        return (label & mask) == wanted && (names.empty() || names[name_of(label)]);
    }
    bool is_impossible() const { return mask == 0 && wanted == 1; }

    static std::vector<LabelTest> make_all(const Program& program, const Document& document) {
        std::vector<LabelTest> tests;
        tests.reserve(program.tests.size());
        for (const NodeTest& test : program.tests) tests.push_back(make(test, document));
        return tests;
    }

    static LabelTest make(const NodeTest& test, const Document& document) {
        constexpr uint32_t KIND = 7;
        const uint32_t kind = make_label(test.kind, 0);
        if (test.kind == Kind::any) return {0, 0, {}};
        const bool named = test.kind == Kind::element || test.kind == Kind::attribute ||
                           test.kind == Kind::instruction;
        if (!named || (test.any_namespace && test.any_local)) return {KIND, kind, {}};
        if (!test.any_namespace && !test.any_local) {
            const uint32_t name = document.names.find(test.name);
            if (name == NONE) return {0, 1, {}};
            return {NONE, make_label(test.kind, name), {}};
        }
        std::vector<bool> names(document.names.size() + size_t{1});
        for (uint32_t name = 0; name < document.names.size(); ++name) {
            names[name] = (test.any_namespace || document.names.namespace_of(name) == test.space) &&
                          (test.any_local || document.names.local_of(name) == test.local);
        }
        return {KIND, kind, std::move(names)};
    }
};

}  // namespace twigcast::program
