// The unit of a plain tree, as `twigcast.matching.plan` would make it.
//
//     /a/b[c>5][d/e]/f   ──►   branches   /a/b/c with .>5  ┐
//                                         /a/b/d/e         ├ below the same  /a/b
//                                         /a/b/f           ┘
//
// A plain tree has no alternatives and denies nothing, so this is all of the pattern, but for
// positions, of which the program has to be asked.  Cost: linear in the tree, for each leaf the
// length of its path.
#pragma once

#include "index/records.hpp"
#include "program/tree.hpp"

namespace twigcast::index {

using namespace base;
using program::Tree;
using program::TreeNode;

class TreePlan {
public:
    static UnitPlan make(const Tree& tree) {
        TreePlan planner(tree);
        planner.add(tree.root(), {});
        return std::move(planner.unit_);
    }

    // Whether a unit is one path and nothing else.
    static bool is_path(const UnitPlan& unit) {
        return !unit.needs_check && unit.branches.size() == 1 && unit.branches[0].predicate.empty();
    }

private:
    explicit TreePlan(const Tree& tree) : tree_(tree) {}

    // Add what a step asks for below a path; the number of the branch that stands for it.
    uint32_t add(const TreeNode& step, std::string path) {
        path += step.descendant ? "//" : "/";
        step.spell_test(path);
        unit_.needs_check |= step.position != 0;
        const uint32_t only = tree_.only_branch(step);
        if (only != NONE) return add(tree_[only], std::move(path));
        std::vector<uint32_t> parts;
        std::string predicate;
        for (const uint32_t number : step.conditions) {
            const TreeNode& condition = tree_[number];
            if (condition.is_step) {
                parts.push_back(add(condition, path));
            } else {
                put(condition.test, predicate);
            }
        }
        if (!parts.empty() && !predicate.empty()) {
            parts.push_back(add_branch({path, std::move(predicate), true, NONE}));
        }
        if (parts.empty()) return add_branch({std::move(path), std::move(predicate), true, NONE});
        const uint32_t number = add_branch({std::move(path), {}, false, NONE});
        for (const uint32_t part : parts) unit_.branches[part].above = number;
        return number;
    }

    uint32_t add_branch(BranchPlan branch) {
        unit_.branches.push_back(std::move(branch));
        return count_of(unit_.branches) - 1;
    }

    static void put(const ValueTest& test, std::string& predicate) {
        predicate += static_cast<char>(test.comparison);
        if (test.is_text()) {
            const uint32_t length = count_of(test.text);
            predicate.append(reinterpret_cast<const char*>(&length), sizeof length) += test.text;
        } else {
            predicate.append(reinterpret_cast<const char*>(&test.number), sizeof test.number);
        }
    }

    const Tree& tree_;
    UnitPlan unit_{};
};

}  // namespace twigcast::index
