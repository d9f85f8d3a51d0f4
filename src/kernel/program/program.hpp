// A pattern as flat arrays: what `twigcast.matching.program` lays out, checked once and then
// evaluated on any number of documents, by any number of threads.
//
// Instructions stand in post-order, so the children of an instruction have smaller numbers.  A
// step's children are its conditions; those of a first-node are the steps of its path.  A residual
// is an expression, which has its own arrays.
#pragma once

#include "base/common.hpp"
#include "base/comparison.hpp"
#include "program/expression.hpp"

namespace twigcast::program {

using namespace base;

enum class Operation : int { step, value, first_node, either, both, negation, residual };
constexpr size_t OPERATION_COUNT = 7;

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
    uint32_t expression;                    // residual
    bool is_version_2;                      // residual: by the rules of XPath 2.0
    uint32_t children_begin, children_end;  // in Program::children
};

struct Program {
    std::vector<NodeTest> tests;
    std::vector<Instruction> instructions;
    std::vector<uint32_t> children;
    std::vector<uint32_t> alternatives;

    Expressions expressions;

    // Whether every number in it leads somewhere, so that evaluation need not look again; and work
    // out what follows from the expressions.
    bool settle() {
        if (!expressions.settle(tests.size())) return false;
        const uint32_t count = count_of(instructions);
        std::vector<uint32_t> depths(count, 1);
        for (uint32_t number = 0; number < count; ++number) {
            const Instruction& instruction = instructions[number];
            uint32_t arity = 0;
            for (uint32_t at = instruction.children_begin; at < instruction.children_end; ++at) {
                const uint32_t child = children[at];
                if (child >= number) return false;
                if (instruction.operation == Operation::first_node &&
                    instructions[child].operation != Operation::step) {
                    return false;
                }
                depths[number] = std::max(depths[number], depths[child] + 1);
                ++arity;
            }
            if (depths[number] > MOST_DEPTH || !is_formed(instruction, arity)) return false;
        }
        return std::all_of(alternatives.begin(), alternatives.end(),
                           [count](uint32_t number) { return number < count; });
    }

private:
    static constexpr uint32_t MOST_DEPTH =
        1000;  // the language allows 200, each a few instructions

    // The steps of patterns lead to elements, attributes and texts only.
    static bool is_of_step(const NodeTest& test) {
        return test.kind == Kind::element || test.kind == Kind::attribute ||
               test.kind == Kind::text;
    }

    bool is_formed(const Instruction& instruction, uint32_t arity) const {
        switch (instruction.operation) {
            case Operation::step:
                if (instruction.test >= tests.size() || !is_of_step(tests[instruction.test])) {
                    return false;
                }
                return instruction.position == 0 || is_numeric(instruction.comparison);
            case Operation::first_node: return arity != 0;
            case Operation::negation: return arity == 1;
            case Operation::residual: return instruction.expression < expressions.all.size();
            case Operation::value:
            case Operation::either:
            case Operation::both: return true;
        }
        return false;
    }
};

}  // namespace twigcast::program
