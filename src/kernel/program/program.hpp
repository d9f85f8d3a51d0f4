// A pattern as flat arrays: what `twigcast.matching.program` lays out, checked once and then
// evaluated on any number of documents, by any number of threads.
//
// Instructions stand in post-order, so the children of an instruction have smaller numbers.  A
// step's children are its conditions; those of a first-node are the steps of its path.
#pragma once

#include "base/common.hpp"
#include "base/comparison.hpp"

namespace twigcast::program {

using namespace base;

enum class Operation : int { step, value, first_node, either, both, negation };
constexpr size_t OPERATION_COUNT = 6;

// What a node must be: its kind and the parts of its name, where they matter.
struct NodeTest {
    Kind kind;
    bool any_namespace;
    bool any_local;
    std::string space;
    std::string local;
    std::string name;  // as Names spells it, where both parts matter
};

struct Instruction {
    Operation operation;
    bool descendant;  // step: `//` rather than `/`
    uint32_t test;    // step
    // Of a value, of the first node of a path, or of a step's index among the siblings that pass
    // the same test.
    Comparison comparison;
    uint32_t position;  // step: what that index is compared with; 0 where any fits
    double number;
    std::string operand;
    uint32_t children_begin, children_end;  // in Program::children
};

struct Program {
    std::vector<NodeTest> tests;
    std::vector<Instruction> instructions;
    std::vector<uint32_t> children;
    std::vector<uint32_t> alternatives;

    // Whether every number in it leads somewhere, so that evaluation need not look again.
    bool is_sound() const {
        const uint32_t count = count_of(instructions);
        for (uint32_t number = 0; number < count; ++number) {
            const Instruction& instruction = instructions[number];
            const bool is_step = instruction.operation == Operation::step;
            if (is_step && instruction.test >= tests.size()) return false;
            if (is_step && instruction.position != 0 && !is_numeric(instruction.comparison)) {
                return false;
            }
            uint32_t arity = 0;
            for (uint32_t at = instruction.children_begin; at < instruction.children_end; ++at) {
                const uint32_t child = children[at];
                if (child >= number) return false;
                if (instruction.operation == Operation::first_node &&
                    instructions[child].operation != Operation::step) {
                    return false;
                }
                ++arity;
            }
            if (instruction.operation == Operation::negation && arity != 1) return false;
            if (instruction.operation == Operation::first_node && arity == 0) return false;
        }
        return std::all_of(alternatives.begin(), alternatives.end(),
                           [count](uint32_t number) { return number < count; });
    }
};

}  // namespace twigcast::program
