// The value of an expression at a node of a document.
//
//     Residual ──► holds(expression, node) ──► effective boolean value
//                     │
//                     ├ paths          node sets, step by step            interpreter_paths
//                     ├ comparisons    one pair that compares is enough   interpreter_comparisons
//                     ├ arithmetic     doubles, or exact numbers          interpreter_arithmetic
//                     └ functions      of texts, numbers, nodes, items    interpreter_functions, …
//
// This header declares the class; each of the others defines some of its functions.
//
// Two sets of rules.  By those of version 2 a text is no number and two items are not one: what
// does not fit is a DynamicError.  By those of XPath 1.0 (the compatibility mode of XPath 2.0) a
// sequence stands for its first item and everything has a number and a text, libxml2's.
//
// Cost.  An expression that depends on the document alone is evaluated once.  Sets of nodes are
// worked on as a whole, step by step; only positions are counted node by node.  What asks whether
// there is a node stops at the first.  Work counts every visit, and ends what takes too long.
// Recursion is over the expression, whose depth is bounded.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "program/axes.hpp"
#include "program/decimal.hpp"
#include "program/item.hpp"
#include "program/learned.hpp"
#include "program/program.hpp"
#include "program/work.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

// A function of a node that says whether it has seen enough; refers to one that lives longer.
class Visit {
public:
    template <class Body>
    Visit(Body& body)
        : body_(&body),
          call_([](void* known, uint32_t node) { return (*static_cast<Body*>(known))(node); }) {}
    bool operator()(uint32_t node) const { return call_(body_, node); }

private:
    void* body_;
    bool (*call_)(void*, uint32_t);
};

struct Focus {
    Item item;
    size_t position = 1, size = 1;
};

// A sequence that is kept by somebody, or the reader's own.
class Operand {
public:
    Operand(const Sequence* kept) : kept_(kept) {}
    Operand(Sequence&& own) : own_(std::move(own)) {}
    const Sequence& operator*() const { return kept_ != nullptr ? *kept_ : own_; }
    const Sequence* operator->() const { return &**this; }
    bool is_kept() const { return kept_ != nullptr; }

private:
    Sequence own_;
    const Sequence* kept_ = nullptr;
};

class Interpreter {
public:
    Interpreter(const Document& document, const Program& program, Learned& learned, Work& work,
                bool is_version_2, Wide now)
        : document_(document),
          program_(program),
          expressions_(program.expressions),
          tests_(learned.tests),
          work_(work),
          is_version_2_(is_version_2),
          now_(now),
          axes_(document, work, is_version_2),
          constants_(program.expressions.all.size()),
          variables_(program.expressions.variables),
          automata_(learned.automata) {}

    // Whether the expression is true at a node.
    bool holds(uint32_t expression, uint32_t node) {
        const Work::Mark mark = work_.mark();
        const bool result = is_true(expression, {Item::of_node(node)});
        work_.release(mark);
        return result;
    }

private:
    using Part = const Expression&;

    uint32_t count(Part one) const { return expressions_.count(one); }
    uint32_t child(Part one, uint32_t at) const { return expressions_.child(one, at); }
    static Function function_of(Part one) { return Expressions::function_of(one); }
    static Operator operator_of(Part one) { return Expressions::operator_of(one); }

    [[noreturn]] static void fail(const char* reason) { throw DynamicError{reason}; }

    // --- values: this header --------------------------------------------------------------------

    Sequence evaluate(uint32_t number, const Focus& focus);
    Sequence evaluate_anew(Part one, const Focus& focus);
    Operand operand(uint32_t number, const Focus& focus);
    const Sequence& constant(uint32_t number);
    Sequence conditional(Part one, const Focus& focus);
    Sequence binding(Part one, const Focus& focus);
    bool quantified(Part one, const Focus& focus);
    bool is_true(uint32_t number, const Focus& focus);
    bool is_true(const Sequence& sequence) const;
    bool exists(uint32_t number, const Focus& focus);

    // --- atomic values: interpreter_atoms -------------------------------------------------------

    Item atom_of(const Item& item) const;
    bool take_atom(uint32_t number, const Focus& focus, Item& atom);
    std::string_view value_of(uint32_t node) const;
    std::string_view text_of(const Item& item);
    std::string_view text_at(uint32_t number, const Focus& focus, bool of_any_type = false);
    double number_of(const Item& item) const;
    double number_at(uint32_t number, const Focus& focus);
    bool number_item_at(uint32_t number, const Focus& focus, Item& item);

    // --- paths: interpreter_paths ---------------------------------------------------------------

    bool is_positional(uint32_t predicate) const;
    bool has_positions(Part one, uint32_t first) const;
    bool accepts(Part along, uint32_t node) const;
    bool passes(Part one, uint32_t first, const Item& item);
    bool passes_at(uint32_t predicate, const Item& item, size_t position, size_t size);
    template <class Body>
    bool walk(Part along, uint32_t node, Body body);
    bool visit_nodes(uint32_t number, const Focus& focus, Visit visit);
    bool visit_along(Part along, uint32_t node, Visit visit);
    void step(Part along, NodeSet& from, NodeSet& reached);
    void step_by_positions(Part along, uint32_t node, NodeSet& reached);
    bool steps_below(Part path, uint32_t at) const;
    uint32_t follow(Part path, const Focus& focus, uint32_t steps, NodeSet& nodes);
    Sequence path(Part one, const Focus& focus);
    Sequence step_by_items(uint32_t step, const NodeSet& from);
    Sequence filtered(Part one, const Focus& focus);
    Sequence mapped(Part one, const Focus& focus);
    Sequence combined(Part one, const Focus& focus);
    NodeSet nodes_at(uint32_t number, const Focus& focus);
    uint32_t first_node(uint32_t number, const Focus& focus);
    uint32_t node_of(const Focus& focus) const;
    NodeSet lend();
    void give_back(NodeSet&& nodes);

    // --- comparisons: interpreter_comparisons ---------------------------------------------------

    bool compares(Part one, const Focus& focus);
    Sequence compared_values(Part one, const Focus& focus);
    Sequence compared_nodes(Part one, const Focus& focus);
    bool nodes_compare(Operator operation, uint32_t nodes, const Focus& focus, const Item& other);
    bool any_compares(Operator operation, const Sequence& one, const Sequence& two);
    bool sets_compare(Operator operation, const Sequence& one, const Sequence& two);
    bool pair_compares(Operator operation, const Item& one, const Item& two);
    bool is_among(uint32_t number, const Focus& focus, uint32_t constant);
    const std::unordered_set<std::string_view>& texts_of(uint32_t constant);
    std::pair<double, double> extremes_of(uint32_t constant);

    // --- arithmetic: interpreter_arithmetic -----------------------------------------------------

    bool take_operand(uint32_t number, const Focus& focus, Item& item);
    Sequence arithmetic(Part one, const Focus& focus);
    Sequence range(Part one, const Focus& focus);
    Sequence rounded(Part one, const Focus& focus);

    // --- functions: interpreter_functions and those behind it -----------------------------------

    Sequence call(Part one, const Focus& focus);
    bool call_test(Part one, const Focus& focus);
    Sequence joined(Part one, const Focus& focus);
    std::string_view own_text(Part one, const Focus& focus);
    uint32_t own_node(Part one, const Focus& focus);
    bool has_language(Part one, const Focus& focus);
    NodeSet identified(Part one, const Focus& focus);
    std::string_view local_name(uint32_t node) const;
    std::string_view namespace_uri(uint32_t node) const;
    std::string_view qualified_name(uint32_t node);
    Sequence sum(Part one, const Focus& focus);
    Sequence call_of_version_2(Part one, const Focus& focus);

    // --- sequences: interpreter_sequences -------------------------------------------------------

    Sequence call_on_sequence(Part one, const Focus& focus);
    std::vector<Item> addends(const Sequence& items);
    Sequence sum_of_items(const Sequence& items);
    Sequence average(const Sequence& items);
    Sequence extreme(const Sequence& items, bool greatest);
    bool are_same(Item one, Item two);
    bool are_same_trees(uint32_t one, uint32_t two);
    bool are_same_sequences(const Sequence& one, const Sequence& two);
    bool have_same_attributes(uint32_t one, uint32_t two);
    Sequence distinct(const Sequence& items);
    Sequence part_of(const Sequence& items, double begin, double end);
    Sequence index_of(Part one, const Operand& items, const Focus& focus);
    Sequence inserted(Part one, const Operand& items, const Focus& focus);

    // --- types: interpreter_types; moments: interpreter_moments; texts: interpreter_texts -------

    bool is_of_type(const Item& item, uint32_t type) const;
    Sequence constructed(Function type, uint32_t number, const Focus& focus);
    Sequence typed(Part one, const Focus& focus);
    Sequence call_on_moments(Part one, const Focus& focus);
    Sequence call_on_texts(Part one, const Focus& focus);
    Sequence joined_texts(Part one, const Focus& focus);
    Sequence text_of_characters(Part one, const Focus& focus);
    Sequence words(std::string_view text);
    Sequence normalized(Part one, const Focus& focus);
    bool contains_token(Part one, const Focus& focus);

    // --- regular expressions: interpreter_regular -----------------------------------------------

    RegularSearch& search_of(Part one);
    bool matches(Part one, const Focus& focus);
    void refuse_empty(RegularSearch& search);
    Sequence tokens(Part one, const Focus& focus);
    Sequence replaced(Part one, const Focus& focus);
    void put_replacement(std::string_view to, const Regular& regular,
                         const std::vector<size_t>& found, std::string_view text,
                         std::string& result);

    const Document& document_;
    const Program& program_;
    const Expressions& expressions_;
    const std::vector<LabelTest>& tests_;
    Work& work_;
    const bool is_version_2_;
    const Wide now_;  // nanoseconds since 1970
    Axes axes_;
    std::vector<std::unique_ptr<Sequence>> constants_;  // by expression, once evaluated
    std::list<std::string> kept_;                       // the texts of the constants
    std::unordered_map<uint32_t, std::unordered_set<std::string_view>> constant_texts_;
    std::unordered_map<uint32_t, std::pair<double, double>> constant_extremes_;
    std::vector<Sequence> variables_;  // by number
    std::vector<NodeSet> spare_;
    std::unordered_map<std::string_view, uint32_t> elements_by_id_;
    bool knows_ids_ = false;
    std::unordered_map<const Expression*, RegularSearch> searches_;
    RegularAutomata& automata_;
};

inline Sequence Interpreter::evaluate(uint32_t number, const Focus& focus) {
    const Expression& one = expressions_[number];
    if (one.is_constant && one.form > Form::root) return constant(number);
    return evaluate_anew(one, focus);
}

inline Operand Interpreter::operand(uint32_t number, const Focus& focus) {
    const Expression& one = expressions_[number];
    if (one.is_constant && one.form > Form::root) return &constant(number);
    if (one.form == Form::variable) return &variables_[one.test];
    return evaluate_anew(one, focus);
}

inline const Sequence& Interpreter::constant(uint32_t number) {
    if (constants_[number] == nullptr) {
        const Work::Mark mark = work_.mark();
        Sequence value = evaluate_anew(expressions_[number], {Item::of_node(0)});
        if (!value.is_node_set()) {  // the texts that it made must stay
            Sequence kept;
            size_t bytes = 0;
            for (size_t at = 0; at < value.size(); ++at) {
                if (value[at].is_text()) bytes += value[at].text.size;
            }
            kept_.emplace_back();
            kept_.back().reserve(bytes);
            for (size_t at = 0; at < value.size(); ++at) {
                Item item = value[at];
                if (item.is_text()) {
                    const size_t begin = kept_.back().size();
                    kept_.back().append(item.view());
                    item.text.data = kept_.back().data() + begin;
                }
                kept.add(item);
            }
            value = std::move(kept);
        }
        work_.release(mark);
        constants_[number] = std::make_unique<Sequence>(std::move(value));
    }
    return *constants_[number];
}

inline Sequence Interpreter::evaluate_anew(Part one, const Focus& focus) {
    work_.spend(1);
    switch (one.form) {
        case Form::text: return Item::of_text(one.text);
        case Form::integer:
        case Form::decimal: {
            constexpr double SMALL = 1e9;
            const bool is_integer = one.form == Form::integer;
            if (is_integer && one.number < SMALL) {
                return Item::of_integer(static_cast<Wide>(one.number));
            }
            Decimal value;
            if (Decimal::read(one.text, value)) {
                Item item = value.item(is_integer);
                item.is_literal = true;
                return item;
            }
            if (is_version_2_) fail("a number with too many digits");
            return Item::of(one.number);
        }
        case Form::number: return Item::of(one.number);
        case Form::context: return focus.item;
        case Form::root: return Item::of_node(0);
        case Form::along: {
            NodeSet from = lend();
            from.push_back(node_of(focus));
            NodeSet reached = lend();
            step(one, from, reached);
            give_back(std::move(from));
            return Sequence(std::move(reached));
        }
        case Form::filter: return filtered(one, focus);
        case Form::path: return path(one, focus);
        case Form::call: return call(one, focus);
        case Form::variable: return variables_[one.test];
        case Form::binding:
            if (one.code < 2) return Item::of(quantified(one, focus));
            return binding(one, focus);
        case Form::conditional: return conditional(one, focus);
        case Form::typed: return typed(one, focus);
        case Form::operation: break;
    }
    switch (operator_of(one)) {
        case Operator::comma: {
            Sequence all;
            for (uint32_t at = 0; at < count(one); ++at) {
                all.add(evaluate(child(one, at), focus));
                Work::bound_items(all.size());
            }
            return all;
        }
        case Operator::either:
        case Operator::both: {
            const bool stop = operator_of(one) == Operator::either;
            for (uint32_t at = 0; at < count(one); ++at) {
                if (is_true(child(one, at), focus) == stop) return Item::of(stop);
            }
            return Item::of(!stop);
        }
        case Operator::equal:
        case Operator::unequal:
        case Operator::less:
        case Operator::at_most:
        case Operator::greater:
        case Operator::at_least: return Item::of(compares(one, focus));
        case Operator::value_equal:
        case Operator::value_unequal:
        case Operator::value_less:
        case Operator::value_at_most:
        case Operator::value_greater:
        case Operator::value_at_least: return compared_values(one, focus);
        case Operator::same_node:
        case Operator::node_before:
        case Operator::node_after: return compared_nodes(one, focus);
        case Operator::concatenation: return joined(one, focus);
        case Operator::range: return range(one, focus);
        case Operator::plus:
        case Operator::minus:
        case Operator::times:
        case Operator::divide:
        case Operator::divide_whole:
        case Operator::modulo: return arithmetic(one, focus);
        case Operator::unite:
        case Operator::intersect:
        case Operator::subtract: return combined(one, focus);
        case Operator::mapping: return mapped(one, focus);
    }
    return {};
}

inline Sequence Interpreter::conditional(Part one, const Focus& focus) {
    return evaluate(child(one, is_true(child(one, 0), focus) ? 1 : 2), focus);
}

inline Sequence Interpreter::binding(Part one, const Focus& focus) {
    const Operand source = operand(child(one, 0), focus);
    if (static_cast<Binding>(one.code) == Binding::let) {
        variables_[one.test] = *source;
        return evaluate(child(one, 1), focus);
    }
    Sequence all;
    for (size_t at = 0; at < source->size(); ++at) {
        variables_[one.test] = (*source)[at];
        all.add(evaluate(child(one, 1), focus));
        Work::bound_items(all.size());
    }
    return all;
}

inline bool Interpreter::quantified(Part one, const Focus& focus) {
    const bool stop = static_cast<Binding>(one.code) == Binding::some;
    const Operand source = operand(child(one, 0), focus);
    for (size_t at = 0; at < source->size(); ++at) {
        const Work::Mark mark = work_.mark();
        variables_[one.test] = (*source)[at];
        const bool holds = is_true(child(one, 1), focus);
        work_.release(mark);
        if (holds == stop) return stop;
    }
    return !stop;
}

inline bool Interpreter::is_true(const Sequence& sequence) const {
    if (sequence.empty()) return false;
    const Item first = sequence[0];
    if (first.is_node()) return true;
    if (sequence.size() > 1) fail("several values are neither true nor false");
    if (first.type == Type::boolean) return first.boolean;
    if (first.is_text()) return first.text.size != 0;
    if (first.is_exact()) return first.wide != 0;
    if (first.is_numeric()) return first.number != 0 && !std::isnan(first.number);
    fail("a date or a duration is neither true nor false");
}

inline bool Interpreter::exists(uint32_t number, const Focus& focus) {
    const Expression& one = expressions_[number];
    if (one.result == Result::nodes && !one.is_constant) {
        auto any = [](uint32_t) { return true; };
        return visit_nodes(number, focus, any);
    }
    return !operand(number, focus)->empty();
}

inline bool Interpreter::is_true(uint32_t number, const Focus& focus) {
    const Expression& one = expressions_[number];
    if (one.is_constant && one.form > Form::root) return is_true(constant(number));
    if (one.result == Result::nodes) return exists(number, focus);
    if (one.form == Form::binding && one.code < 2) return quantified(one, focus);
    if (one.form == Form::call && one.result == Result::boolean) return call_test(one, focus);
    return is_true(evaluate_anew(one, focus));
}

}  // namespace twigcast::program
