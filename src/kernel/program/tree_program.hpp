// The program of a plain tree, as `twigcast.matching.program` would lay it out.
//
// The text of a pattern says all of it, so no program is kept for a pattern that TreeText can read:
// it is made when a document matcher has to ask.  Cost: linear in the tree.
#pragma once

#include <utility>

#include "program/program.hpp"
#include "program/tree_text.hpp"

namespace twigcast::program {

using namespace base;

class TreeProgram {
public:
    // False where the text is no plain tree.
    static bool make(std::string_view text, Program& program) {
        Tree tree;
        if (!TreeText::read(text, tree)) return false;
        program = {};
        TreeProgram maker(tree, program);
        program.alternatives.push_back(maker.add(tree.root_number()));
        return program.settle();
    }

private:
    TreeProgram(const Tree& tree, Program& program) : tree_(tree), program_(program) {}

    // Lay out a condition and all below it; the number of its instruction.
    uint32_t add(uint32_t number) {
        const TreeNode& node = tree_[number];
        Instruction instruction{};
        instruction.comparison = node.test.comparison;
        if (node.is_step) {
            std::vector<uint32_t> children = in_order(node.conditions);
            for (uint32_t& child : children) child = add(child);
            instruction.operation = Operation::step;
            instruction.descendant = node.descendant;
            instruction.test = add_test(node);
            instruction.position = node.position;
            instruction.children_begin = count_of(program_.children);
            program_.children.insert(program_.children.end(), children.begin(), children.end());
        } else {
            instruction.operation = Operation::value;
            if (node.test.is_text()) {
                instruction.operand = node.test.text;
            } else {
                instruction.number = node.test.number;
            }
            instruction.children_begin = count_of(program_.children);
        }
        instruction.children_end = count_of(program_.children);
        program_.instructions.push_back(std::move(instruction));
        return count_of(program_.instructions) - 1;
    }

    // Comparisons before steps, short before long: the first to fail ends the matter.
    std::vector<uint32_t> in_order(std::vector<uint32_t> conditions) const {
        const auto cost = [this](uint32_t number) {
            return std::pair(tree_[number].is_step, count_characters(tree_[number].text));
        };
        std::stable_sort(conditions.begin(), conditions.end(),
                         [&](uint32_t one, uint32_t other) { return cost(one) < cost(other); });
        return conditions;
    }

    uint32_t add_test(const TreeNode& step) {
        const bool is_any = step.name.empty();
        for (uint32_t at = 0; at < program_.tests.size(); ++at) {
            const NodeTest& known = program_.tests[at];
            if (known.kind == step.kind && known.any_local == is_any && known.local == step.name)
                return at;
        }
        const std::string name(step.name);
        program_.tests.push_back({step.kind, is_any, is_any, {}, name, name});
        return count_of(program_.tests) - 1;
    }

    const Tree& tree_;
    Program& program_;
};

}  // namespace twigcast::program
