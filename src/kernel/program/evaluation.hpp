// Whether a pattern is in a document, exactly.
//
// Each instruction is evaluated once, for all the nodes that matter at once: `keep` takes the
// nodes at which a condition is asked, in document order, and leaves those where it holds.  For a
// step that is
//
//     asked ──reach──► nodes that the step leads to ──keep, each condition──► fit ──► asked that
//                                                                             reach a fit one
//
// `exists` only says whether a condition holds at any of them, so it need not go back to the nodes
// asked; a pattern that is one path never leaves it.
//
// Time: the number of instructions times the number of nodes (times a logarithm where a set of
// children has to be sorted), whatever the pattern and however deep the document; nothing recurses
// but over the pattern.  Evaluating node by node instead is exponential in the number of `//`.
// Memory: a bit for each node of the document and level of the pattern, so about as much as the
// document itself at worst; see `node_set.hpp`.
// Rejected: bitmaps for the sets that are worked on, which are as simple but pay for the whole
// document at each step, while most steps lead to few nodes.
//
// A residual may have no value at a node (`xs:date('soon')`).  That counts as neither true nor
// false: the condition does not hold there, and neither does its negation.  So an error counts as
// false where conditions are asked for, and as true below a `not`, whose result it then cannot make
// true. The answer does not depend on the order of conditions.
//
// The exception to the bound: a number is read anew for each node, so nested elements that all
// hold one huge number cost its length times their depth.
#pragma once

#include <optional>
#include <utility>

#include "base/comparison.hpp"
#include "base/number_text.hpp"
#include "program/interpreter_texts.hpp"
#include "program/label_index.hpp"
#include "program/learned.hpp"
#include "program/node_set.hpp"
#include "program/occurrences.hpp"
#include "program/program.hpp"
#include "xml/document.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

// Whether a pattern is in a document.  A residual may need too much work: it is then undecided.
enum class Verdict : int { no, yes, undecided };

class Evaluation {
public:
    // `now` is what the functions of the current time give: nanoseconds since 1970.
    // What was learned follows the document.
    Evaluation(const Document& document, const Program& program, Learned& learned,
               LabelIndex& labels, int64_t now)
        : document_(document),
          nodes_(document.nodes.data()),
          program_(program),
          learned_(learned),
          labels_(labels),
          now_(now) {
        learned.follow(program, document);
    }

    Verdict matches() {
        try {
            for (const uint32_t alternative : program_.alternatives) {
                if (exists(alternative, {0})) return Verdict::yes;
            }
        } catch (const BudgetExceeded&) {
            return Verdict::undecided;
        }
        return Verdict::no;
    }

    // Why an expression has no value, where the document does not match for that reason.
    const char* reason() const { return reason_; }

private:
    // --- conditions -----------------------------------------------------------------------

    // Whether the condition holds at any of `asked`.  All conditions of a step but the last are
    // kept to, the last is asked in turn: no recursion along a path.  Where a step leads to many
    // nodes, a few of them are asked first, then more, then all others: most conditions that hold
    // somewhere hold at one of the first.  That is done at BLOCKED_LEVELS of a path, since what
    // lies below several blocks is looked at again for each.
    bool exists(uint32_t number, NodeSet asked, uint32_t levels = BLOCKED_LEVELS) {
        while (true) {
            const Instruction& instruction = program_.instructions[number];
            switch (instruction.operation) {
                case Operation::step: asked = reach(instruction, asked); break;
                case Operation::both: break;
                case Operation::either: return exists_either(instruction, std::move(asked));
                case Operation::residual: return exists_residual(instruction, asked);
                case Operation::value:
                case Operation::first_node:
                case Operation::negation: keep(number, asked); return !asked.empty();
            }
            if (instruction.children_begin == instruction.children_end) return !asked.empty();
            if (levels > 0 && asked.size() > size_t{FIRST_BLOCK}) {
                return exists_by_blocks(instruction, std::move(asked), levels - 1);
            }
            keep_all(instruction.children_begin, instruction.children_end - 1, asked);
            if (asked.empty()) return false;
            number = program_.children[instruction.children_end - 1];
        }
    }

    bool exists_by_blocks(const Instruction& instruction, NodeSet&& asked, uint32_t levels) {
        const uint32_t last = program_.children[instruction.children_end - 1];
        const auto holds_in = [&](NodeSet&& block) {
            keep_all(instruction.children_begin, instruction.children_end - 1, block);
            return !block.empty() && exists(last, std::move(block), levels);
        };
        auto begin = asked.begin();
        for (ptrdiff_t size = FIRST_BLOCK; size < LAST_BLOCK && asked.end() - begin > 2 * size;
             size *= 8) {
            if (holds_in(NodeSet(begin, begin + size))) return true;
            begin += size;
        }
        asked.erase(asked.begin(), begin);
        return holds_in(std::move(asked));
    }

    bool exists_residual(const Instruction& instruction, const NodeSet& asked) {
        return std::any_of(asked.begin(), asked.end(),
                           [&](uint32_t node) { return holds(instruction, node); });
    }

    Interpreter& interpreter_of(const Instruction& instruction) {
        std::optional<Interpreter>& known = interpreters_[instruction.is_version_2];
        if (!known) {
            known.emplace(document_, program_, learned_, work_, instruction.is_version_2, now_);
        }
        return *known;
    }

    bool exists_either(const Instruction& instruction, NodeSet&& asked) {
        const ParkedSet parked = park(std::move(asked));
        for (uint32_t at = instruction.children_begin; at < instruction.children_end; ++at) {
            if (exists(program_.children[at], parked.copy())) return true;
        }
        return false;
    }

    void keep(uint32_t number, NodeSet& asked) {
        const Instruction& instruction = program_.instructions[number];
        switch (instruction.operation) {
            case Operation::step: {
                if (is_bare(instruction)) return keep_bare(instruction, asked);
                NodeSet fit = reach(instruction, asked);
                ParkedSet parked = park(std::move(asked));
                keep_all(instruction.children_begin, instruction.children_end, fit);
                asked = parked.take();
                return keep_above(instruction, asked, fit);
            }
            case Operation::value: return keep_valued(instruction, asked);
            case Operation::first_node: return keep_first_or_none(instruction, asked);
            case Operation::both:
                return keep_all(instruction.children_begin, instruction.children_end, asked);
            case Operation::either: {
                ParkedSet parked = park(NodeSet(asked));
                for (uint32_t at = instruction.children_begin;
                     at < instruction.children_end && !asked.empty(); ++at) {
                    keep_other(program_.children[at], asked);
                }
                asked = without(parked.take(), asked);
                return;
            }
            case Operation::negation:
                return keep_not(program_.children[instruction.children_begin], asked);
            case Operation::residual:
                return keep_where(asked, [&](uint32_t node) { return holds(instruction, node); });
        }
    }

    void keep_all(uint32_t begin, uint32_t end, NodeSet& asked) {
        for (uint32_t at = begin; at < end && !asked.empty(); ++at) {
            keep(program_.children[at], asked);
        }
    }

    // Keep those nodes where the condition does not hold.
    void keep_other(uint32_t number, NodeSet& asked) {
        ParkedSet parked = park(NodeSet(asked));
        keep(number, asked);
        asked = without(parked.take(), asked);
    }

    // Keep those nodes where the condition is false.
    void keep_not(uint32_t number, NodeSet& asked) {
        errors_hold_ = !errors_hold_;
        keep_other(number, asked);
        errors_hold_ = !errors_hold_;
    }

    // Whether a residual holds at a node.  What the name decides is asked once for each name.
    bool holds(const Instruction& instruction, uint32_t node) {
        const uint32_t label = nodes_[node].label;
        if (!program_.expressions[instruction.expression].is_of_name ||
            kind_of(label) != Kind::element) {
            return holds_anew(instruction, node);
        }
        learned_.by_name.resize(program_.instructions.size());
        std::vector<Known>& answers =
            learned_.by_name[static_cast<size_t>(&instruction - program_.instructions.data())];
        answers.resize(document_.names.size());
        Known& answer = answers[name_of(label)];
        if (answer == Known::unknown) {
            answer = holds_anew(instruction, node) ? Known::yes : Known::no;
        }
        return answer == Known::yes;
    }

    bool holds_anew(const Instruction& instruction, uint32_t node) {
        const Work::Mark mark = work_.mark();
        try {
            return interpreter_of(instruction).holds(instruction.expression, node);
        } catch (const DynamicError& error) {
            reason_ = error.reason;
            work_.release(mark);
            interpreters_[instruction.is_version_2]
                .reset();  // it was left in the middle of its work
            if (is_strict_) throw;
            return errors_hold_;
        }
    }

    ParkedSet park(NodeSet&& nodes) const { return {std::move(nodes), document_.nodes.size()}; }

    template <class Holds>
    static void keep_where(NodeSet& asked, Holds holds) {
        size_t kept = 0;
        for (const uint32_t node : asked) {
            if (holds(node)) asked[kept++] = node;
        }
        asked.resize(kept);
    }

    void keep_valued(const Instruction& test, NodeSet& asked) const {
        if (is_numeric(test.comparison)) {
            const NumberComparison comparison = number_comparison(test.comparison);
            return keep_where(asked, [&](auto node) {
                const double number = to_number(document_.value_of(node));
                return compare_numbers(number, comparison, test.number);
            });
        }
        const std::string_view operand = test.operand;
        if (test.comparison == Comparison::contains) {
            Occurrences occurrences(operand);
            return keep_where(
                asked, [&](auto node) { return occurrences.is_in(document_.value_of(node)); });
        }
        const TextComparison comparison = text_comparison(test.comparison);
        return keep_where(asked, [&](auto node) {
            return compare_text(document_.value_of(node), comparison, operand);
        });
    }

    // --- steps ----------------------------------------------------------------------------

    // The nodes that a step leads to from any of `from`, its conditions not yet asked.
    NodeSet reach(const Instruction& step, const NodeSet& from) {
        const LabelTest& test = learned_.tests[step.test];
        NodeSet reached;
        if (test.is_impossible()) return reached;
        reached.reserve(FEW_REACHED);
        if (step.descendant) {
            reach_descendants(step, test, from, reached);
        } else {
            reach_children(step, test, from, reached);
        }
        return reached;
    }

    void reach_children(const Instruction& step, const LabelTest& test, const NodeSet& from,
                        NodeSet& reached) const {
        const bool attributes = kind_of(test.wanted) == Kind::attribute;
        for (const uint32_t above : from) {
            uint32_t index = 0;
            const uint32_t end = nodes_[above].end;
            for (uint32_t node = above + 1; node < end; node = nodes_[node].end) {
                const uint32_t label = nodes_[node].label;
                if (attributes && kind_of(label) != Kind::attribute) break;
                if (test.accepts(label) && is_asked(step, ++index)) reached.push_back(node);
            }
        }
        // Where one of `from` lies below another, their children alternate.
        if (!std::is_sorted(reached.begin(), reached.end()))
            std::sort(reached.begin(), reached.end());
    }

    void reach_descendants(const Instruction& step, const LabelTest& test, const NodeSet& from,
                           NodeSet& reached) {
        const bool counted = step.position != 0;
        if (counted) counts_.assign(document_.nodes.size(), 0);
        uint32_t done = 0;
        for (const uint32_t above : from) {
            if (above < done) continue;  // below one that was searched
            done = nodes_[above].end;
            const auto take = [&](uint32_t node) {
                if (!counted || is_asked(step, ++counts_[nodes_[node].parent])) {
                    reached.push_back(node);
                }
            };
            if (test.mask == NONE && done - above > FEW_NODES && labels_.is_worth_asking()) {
                const auto [first, last] = labels_.find(test.wanted, above + 1, done);
                std::for_each(first, last, take);
                continue;
            }
            for (uint32_t node = above + 1; node < done; ++node) {
                if (test.accepts(nodes_[node].label)) take(node);
            }
        }
    }

    // A step that asks for nothing but the node that it leads to.
    static bool is_bare(const Instruction& step) {
        return !step.descendant && step.position == 0 && step.children_begin == step.children_end;
    }

    // Keep those of `asked` from which a bare step leads anywhere.
    void keep_bare(const Instruction& step, NodeSet& asked) const {
        const LabelTest& test = learned_.tests[step.test];
        const bool attributes = kind_of(test.wanted) == Kind::attribute;
        keep_where(asked, [&](uint32_t above) {
            const uint32_t end = nodes_[above].end;
            for (uint32_t node = above + 1; node < end; node = nodes_[node].end) {
                const uint32_t label = nodes_[node].label;
                if (test.accepts(label)) return true;
                if (attributes && kind_of(label) != Kind::attribute) break;
            }
            return false;
        });
    }

    static bool is_asked(const Instruction& step, uint32_t index) {
        return step.position == 0 ||
               compare_numbers(index, number_comparison(step.comparison), step.position);
    }

    // Keep those of `asked` from which the step leads to one of `fit`.
    void keep_above(const Instruction& step, NodeSet& asked, const NodeSet& fit) {
        if (fit.empty()) return asked.clear();
        if (asked.size() == 1) return;  // all that fit were reached from there
        if (step.descendant) {
            auto next = fit.begin();
            keep_where(asked, [&](uint32_t node) {
                while (next != fit.end() && *next <= node) ++next;
                return next != fit.end() && *next < nodes_[node].end;
            });
        } else {
            marks_.resize(document_.nodes.size());
            for (const uint32_t node : fit) marks_[nodes_[node].parent] = 1;
            keep_where(asked, [&](uint32_t node) { return marks_[node] != 0; });
            for (const uint32_t node : fit) marks_[nodes_[node].parent] = 0;
        }
    }

    // --- the first node of a path -----------------------------------------------------------

    // Which node is the first is not known where an error says nothing about one before it.
    void keep_first_or_none(const Instruction& instruction, NodeSet& asked) {
        const NodeSet before = asked;
        const bool outer = std::exchange(is_strict_, true);
        try {
            keep_first(instruction, asked);
        } catch (const DynamicError&) {
            asked = errors_hold_ ? before : NodeSet{};
        }
        is_strict_ = outer;
    }

    // Forwards along the path, the nodes that each step leads to; then backwards, for each of
    // them the first node that the rest of the path selects from there.
    void keep_first(const Instruction& instruction, NodeSet& asked) {
        const uint32_t* const steps = program_.children.data() + instruction.children_begin;
        const uint32_t length = instruction.children_end - instruction.children_begin;
        std::vector<ParkedSet> levels;
        NodeSet below = asked;
        levels.push_back(park(std::move(asked)));
        for (uint32_t at = 0; at < length; ++at) {
            const Instruction& step = program_.instructions[steps[at]];
            below = reach(step, below);
            keep_all(step.children_begin, step.children_end, below);
            if (below.empty()) return asked.clear();
            if (at + 1 < length) levels.push_back(park(NodeSet(below)));
        }
        std::vector<uint32_t> firsts = below;
        for (uint32_t at = length; at-- > 0;) {
            asked = levels[at].take();
            const bool descendant = program_.instructions[steps[at]].descendant;
            firsts =
                descendant ? first_below(asked, below, firsts) : first_child(asked, below, firsts);
            below = asked;
        }
        NodeSet selected = firsts;
        std::sort(selected.begin(), selected.end());
        selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
        if (!selected.empty() && selected.back() == NONE) selected.pop_back();
        keep_valued(instruction, selected);
        auto first = firsts.begin();
        keep_where(asked, [&](uint32_t) {
            return std::binary_search(selected.begin(), selected.end(), *first++);
        });
    }

    // For each node above, the least of the `firsts` of its children below.
    std::vector<uint32_t> first_child(const NodeSet& above, const NodeSet& below,
                                      const std::vector<uint32_t>& firsts) {
        counts_.assign(document_.nodes.size(), NONE);
        for (size_t at = 0; at < below.size(); ++at) {
            uint32_t& least = counts_[nodes_[below[at]].parent];
            least = std::min(least, firsts[at]);
        }
        std::vector<uint32_t> result;
        result.reserve(above.size());
        for (const uint32_t node : above) result.push_back(counts_[node]);
        return result;
    }

    // For each node above, the least of the `firsts` of those below that lie in its subtree.
    // From the last node to the first; `open` holds the subtrees behind that are not yet part of
    // a larger one, the nearest on top, each with its least.
    std::vector<uint32_t> first_below(const NodeSet& above, const NodeSet& below,
                                      const std::vector<uint32_t>& firsts) const {
        std::vector<uint32_t> result(above.size());
        std::vector<std::pair<uint32_t, uint32_t>> open;
        size_t left = below.size();
        for (size_t at = above.size(); at-- > 0;) {
            const uint32_t node = above[at];
            for (; left > 0 && below[left - 1] > node; --left) {
                open.emplace_back(below[left - 1], firsts[left - 1]);
            }
            uint32_t least = NONE;
            while (!open.empty() && open.back().first < nodes_[node].end) {
                least = std::min(least, open.back().second);
                open.pop_back();
            }
            if (least != NONE) open.emplace_back(node, least);
            result[at] = least;
        }
        return result;
    }

    static constexpr uint32_t BLOCKED_LEVELS = 2;
    static constexpr ptrdiff_t FIRST_BLOCK = 8, LAST_BLOCK = 512;
    static constexpr size_t FEW_REACHED = 16;
    static constexpr uint32_t FEW_NODES = 32;  // that are sooner walked than looked up

    const Document& document_;
    const Node* nodes_;
    const Program& program_;
    Learned& learned_;
    LabelIndex& labels_;
    const int64_t now_;
    const char* reason_ = nullptr;
    bool errors_hold_ = false;  // what a residual without a value counts as here
    bool is_strict_ = false;    // such a residual must not be counted as either
    Work work_;
    std::optional<Interpreter> interpreters_[2];  // by XPath 1.0 and by version 2
    std::vector<uint8_t> marks_;                  // all zero between uses
    std::vector<uint32_t> counts_;                // for each node, set anew at each use
};

// One program asked of a document of which nothing else is asked.
class LoneEvaluation {
public:
    LoneEvaluation(const Document& document, const Program& program, int64_t now)
        : labels_(document), evaluation_(document, program, learned_, labels_, now) {}

    Verdict matches() { return evaluation_.matches(); }
    const char* reason() const { return evaluation_.reason(); }

private:
    Learned learned_;
    LabelIndex labels_;
    Evaluation evaluation_;
};

}  // namespace twigcast::program
