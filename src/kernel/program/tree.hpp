// A plain tree in normal form: a pattern of steps whose conditions are steps and comparisons.
//
//     /a[.//b>5][@x="1"][c]      a ─┬─ // b ── .>5     one node for each step and comparison;
//                                   ├─ @x ── .="1"     the conditions of a step are sorted by
//                                   └─ c               their texts
//
// This is what `twigcast.language.nodes` and `normal` say of names without namespace, `*`, `@`,
// `text()`, `/`, `//`, comparisons with constants and positions `[2]`, said again in C++.
//
// Invariant: a tree that is built has the conditions and the text that Python would give it.  Where
// that is not plain, because conditions exclude each other (Python warns) or take long to compare,
// `Unsure` is thrown, and Python reads the expression.  Tests compare the two.
//
// Cost: linear in the text for each level of steps, and for siblings that may imply each other
// their product, up to a bound.
#pragma once

#include <charconv>

#include "base/value_test.hpp"

namespace twigcast::program {

using namespace base;

struct Unsure {};

struct TreeNode {
    bool is_step = false;
    std::string text;  // in a path, with the slashes of a step

    // Of a step.
    bool descendant = false;
    Kind kind = Kind::element;
    std::string_view name;  // empty for any; it lies in the text that was read
    uint32_t position = 0;  // among siblings that pass the same test; 0 for any
    std::vector<uint32_t> conditions;

    ValueTest test;  // of a comparison

    bool is_wildcard() const { return kind == Kind::element && name.empty() && position == 0; }
    bool has_equal_test(const TreeNode& other) const {
        return kind == other.kind && name == other.name;
    }
    // Whether each node that passes the test of another step passes this one's.
    bool accepts(const TreeNode& other) const {
        return kind == other.kind && (name.empty() || name == other.name);
    }
    void spell_test(std::string& text) const {
        if (kind == Kind::text) {
            text += "text()";
            return;
        }
        if (kind == Kind::attribute) text += '@';
        if (name.empty()) text += '*';
        text += name;
    }
};

class Tree {
public:
    Tree() { nodes_.reserve(USUAL_NODES); }

    const TreeNode& operator[](uint32_t number) const { return nodes_[number]; }
    const TreeNode& root() const { return nodes_[root_]; }
    uint32_t root_number() const { return root_; }

    // The one condition of a step where that is a step, or NONE.
    uint32_t only_branch(const TreeNode& step) const {
        const bool is_only = step.conditions.size() == 1 && nodes_[step.conditions[0]].is_step;
        return is_only ? step.conditions[0] : NONE;
    }

    // --- building, from the leaves up ---------------------------------------------------------

    uint32_t add_comparison(ValueTest test) {
        TreeNode node;
        std::string& text = node.text;
        const char* const spelling = SPELLINGS[static_cast<uint8_t>(test.comparison)];
        text = test.is_function() ? std::string(spelling) + "(.," : "." + std::string(spelling);
        if (test.is_text()) {
            const char mark = test.text.find('"') == std::string::npos ? '"' : '\'';
            (text += mark).append(test.text) += mark;
        } else {
            spell_number(test.number, text);
        }
        if (test.is_function()) text += ')';
        node.test = std::move(test);
        return add(std::move(node));
    }

    // A step with its conditions as they were written.
    uint32_t add_branch(bool descendant, Kind kind, std::string_view name, uint32_t position,
                        std::vector<uint32_t> conditions) {
        conjoin(conditions);
        const bool slides = descendant && kind == Kind::element && name.empty() && position == 0;
        const uint32_t step =
            add_step(descendant && !slides, kind, name, position, std::move(conditions));
        return slides ? descend(step) : step;
    }

    // Leave out what follows from other conditions, and sort the rest.
    void conjoin(std::vector<uint32_t>& conditions) {
        if (conditions.size() < 2) return;
        std::sort(conditions.begin(), conditions.end(), [this](uint32_t one, uint32_t other) {
            return nodes_[one].text < nodes_[other].text;
        });
        const auto end =
            std::unique(conditions.begin(), conditions.end(), [this](uint32_t one, uint32_t other) {
                return nodes_[one].text == nodes_[other].text;
            });
        conditions.erase(end, conditions.end());
        check_comparisons(conditions);
        std::vector<uint32_t> kept;
        for (const uint32_t candidate : conditions) {
            const auto implies_candidate = [&](uint32_t other) {
                return implies(other, candidate);
            };
            if (std::any_of(kept.begin(), kept.end(), implies_candidate)) continue;
            const auto follows = [&](uint32_t other) { return implies(candidate, other); };
            kept.erase(std::remove_if(kept.begin(), kept.end(), follows), kept.end());
            kept.push_back(candidate);
        }
        conditions = std::move(kept);
    }

    // The step of the document node.  It has neither attributes nor text: `/*//@a` is `//@a`.
    void set_root(uint32_t step) {
        const uint32_t below = only_branch(nodes_[step]);
        const bool is_leaf = below != NONE && nodes_[below].kind != Kind::element;
        root_ = nodes_[step].is_wildcard() && is_leaf && nodes_[below].descendant ? below : step;
    }

private:
    static constexpr size_t USUAL_NODES = 16;
    static constexpr size_t MOST_NODES = 250;  // far fewer than the language allows
    static constexpr uint32_t MOST_WORK = 2000;

    uint32_t add(TreeNode node) {
        if (nodes_.size() == MOST_NODES) throw Unsure();
        nodes_.push_back(std::move(node));
        return count_of(nodes_) - 1;
    }

    // The shortest decimal spelling, without exponent, of a number of moderate size.
    static void spell_number(double number, std::string& text) {
        constexpr double LARGEST = 1e15, SMALLEST = 1e-9;
        const double size = std::fabs(number);
        if (!(size < LARGEST) || (size < SMALLEST && size != 0)) throw Unsure();
        char digits[64];
        const auto end =
            std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr;
        text.append(digits, end);
    }

    // --- steps --------------------------------------------------------------------------------

    uint32_t add_step(bool descendant, Kind kind, std::string_view name, uint32_t position,
                      std::vector<uint32_t> conditions) {
        TreeNode node;
        node.is_step = true;
        node.descendant = descendant;
        node.kind = kind;
        node.name = name;
        node.position = position;
        node.conditions = std::move(conditions);
        node.text = descendant ? "//" : "/";
        node.spell_test(node.text);
        if (position != 0) node.text += "[" + std::to_string(position) + "]";
        const uint32_t below = only_branch(node);
        if (below != NONE && !is_compared(nodes_[below])) {
            node.text += nodes_[below].text;
        } else {
            for (const uint32_t condition : node.conditions) spell_condition(condition, node.text);
        }
        return add(std::move(node));
    }

    // Whether a comparison, and no function, is a step's one condition, as in `price > 5`.
    bool is_compared(const TreeNode& step) const {
        if (step.conditions.size() != 1) return false;
        const TreeNode& condition = nodes_[step.conditions[0]];
        return !condition.is_step && !condition.test.is_function();
    }

    void spell_condition(uint32_t number, std::string& text) const {
        const TreeNode& node = nodes_[number];
        text += '[';
        if (node.is_step && node.descendant) text += '.';
        const std::string_view spelling = node.text;
        const bool has_slash = node.is_step && !node.descendant;
        if (node.is_step && is_compared(node)) {
            // `/b[.>5]` is spelled `b>5`.
            const std::string_view comparison = nodes_[node.conditions[0]].text;
            const size_t head = spelling.size() - comparison.size() - 2;
            (text += spelling.substr(has_slash, head - has_slash)) += comparison.substr(1);
        } else {
            text += spelling.substr(has_slash);
        }
        text += ']';
    }

    // The step with its edge turned into `//`, which a run of bare `*` has at its lower end.
    uint32_t descend(uint32_t number) {
        const TreeNode step = nodes_[number];
        if (step.is_wildcard()) {
            if (step.conditions.empty()) return number;
            const uint32_t below = only_branch(step);
            if (below != NONE) {
                return add_step(false, step.kind, step.name, 0, {descend(below)});
            }
        }
        return add_step(true, step.kind, step.name, step.position, step.conditions);
    }

    // --- what conditions say about each other -------------------------------------------------

    // Python knows when comparisons at one node exclude each other; two simple ones are known here.
    void check_comparisons(const std::vector<uint32_t>& conditions) const {
        const TreeNode* first = nullptr;
        uint32_t count = 0;
        for (const uint32_t number : conditions) {
            const TreeNode& node = nodes_[number];
            if (node.is_step) continue;
            if (++count > 2) throw Unsure();
            if (count == 2 && (is_mixed(first->test, node.test) || exclude(first->test, node.test)))
                throw Unsure();
            first = &node;
        }
    }

    // Of a function and a number, Python knows whether the text can be part of a number.
    static bool is_mixed(const ValueTest& one, const ValueTest& other) {
        return (one.is_function() && !other.is_text()) || (other.is_function() && !one.is_text());
    }

    bool implies(uint32_t given, uint32_t asked) {
        const TreeNode &known = nodes_[given], &wanted = nodes_[asked];
        if (known.is_step && wanted.is_step) return branch_implies(given, asked);
        if (known.is_step || wanted.is_step) return false;
        if (known.text == wanted.text) return true;
        if (is_mixed(known.test, wanted.test)) throw Unsure();
        return value_implies(known.test, wanted.test);
    }

    bool branch_implies(uint32_t given, uint32_t asked) {
        if (++work_ > MOST_WORK) throw Unsure();
        const TreeNode &known = nodes_[given], &wanted = nodes_[asked];
        if (known.text == wanted.text) return true;
        if (!wanted.descendant) {
            if (!known.descendant) return node_implies(given, asked);
            if (known.kind != Kind::element) return false;
            const uint32_t slid = slide(asked);
            return slid != NONE && branch_implies(given, slid);
        }
        if (node_implies(given, asked)) return true;
        const size_t count = nodes_[given].conditions.size();
        for (size_t at = 0; at < count; ++at) {
            const uint32_t below = nodes_[given].conditions[at];
            if (nodes_[below].is_step && branch_implies(below, asked)) return true;
        }
        return false;
    }

    // Whether the node that `given` finds is one that `asked` accepts.  Nodes may be added
    // meanwhile, so that none is held by reference.
    bool node_implies(uint32_t given, uint32_t asked) {
        const TreeNode &known = nodes_[given], &wanted = nodes_[asked];
        if (!wanted.accepts(known)) return false;
        if (wanted.position != 0 &&
            (wanted.position != known.position || !wanted.has_equal_test(known))) {
            return false;
        }
        const size_t asked_count = wanted.conditions.size(), given_count = known.conditions.size();
        for (size_t at = 0; at < asked_count; ++at) {
            const uint32_t condition = nodes_[asked].conditions[at];
            size_t from = 0;
            while (from < given_count && !implies(nodes_[given].conditions[from], condition))
                ++from;
            if (from == given_count) return false;
        }
        return true;
    }

    // The same branch with its `//` first, where it starts with a run of bare `*`; else NONE.
    // `*/*//b`, the normal form, and `.//*/*/b` say the same.
    uint32_t slide(uint32_t number) {
        const TreeNode step = nodes_[number];
        if (!step.is_wildcard()) return NONE;
        if (step.conditions.empty()) return add_step(true, step.kind, step.name, 0, {});
        uint32_t below = only_branch(step);
        if (below == NONE) return NONE;
        if (!nodes_[below].descendant && (below = slide(below)) == NONE) return NONE;
        const TreeNode next = nodes_[below];
        below = add_step(false, next.kind, next.name, next.position, next.conditions);
        return add_step(true, step.kind, step.name, 0, {below});
    }

    std::vector<TreeNode> nodes_;
    uint32_t root_ = NONE;
    uint32_t work_ = 0;
};

}  // namespace twigcast::program
