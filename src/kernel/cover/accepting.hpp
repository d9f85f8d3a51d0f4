// Whether one node of a given twig passes all that is asked of it beside its branches.
#pragma once

#include "base/common.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

// Whether something at a given node, or right below it, excludes what is denied.
inline bool is_excluded(const Terms& terms, const Denial& denial, const Twig& giving, uint32_t at) {
    const auto contradicts = [&](const GivenNode& node) {
        for (uint32_t have = 0; have < node.atom_count; ++have) {
            if (terms.excludes(giving.atoms[node.atoms + have], denial)) return true;
        }
        return false;
    };
    if (denial.of == Denial::Of::value) return contradicts(giving.nodes[at]);
    for (uint32_t below = at + 1; below < giving.nodes.size(); ++below) {
        const GivenNode& node = giving.nodes[below];
        if (node.parent < at) break;
        if (node.parent != at || !node.exact) continue;
        if (denial.of == Denial::Of::root && at == 0 && !terms.overlap(node.label, denial.label)) {
            return true;
        }
        if (denial.of == Denial::Of::attribute && node.label == denial.label && contradicts(node)) {
            return true;
        }
    }
    return false;
}

inline bool has_others(const Terms& terms, const Twig& asking, const AskedNode& asked,
                       const Twig& giving, uint32_t at) {
    const GivenNode& given = giving.nodes[at];
    for (uint32_t want = 0; want < asked.other_count; ++want) {
        const uint32_t wanted = asking.atoms[asked.others + want];
        bool is_implied = false;
        for (uint32_t have = 0; have < given.other_count && !is_implied; ++have) {
            is_implied = terms.others.implies(giving.atoms[given.others() + have], wanted);
        }
        const Denial& denial = terms.denial(wanted);
        if (!is_implied &&
            (denial.of == Denial::Of::nothing || !is_excluded(terms, denial, giving, at))) {
            return false;
        }
    }
    return true;
}

inline bool accepts(const Terms& terms, const Twig& asking, const AskedNode& asked,
                    const Twig& giving, uint32_t at) {
    const GivenNode& given = giving.nodes[at];
    if (asked.label != given.label && !terms.accepts(asked.label, given.label)) return false;
    for (uint32_t want = 0; want < asked.atom_count; ++want) {
        bool is_implied = false;
        for (uint32_t have = 0; have < given.atom_count && !is_implied; ++have) {
            is_implied =
                terms.implies(giving.atoms[given.atoms + have], asking.atoms[asked.atoms + want]);
        }
        if (!is_implied) return false;
    }
    return asked.other_count == 0 || has_others(terms, asking, asked, giving, at);
}

}  // namespace twigcast::cover
