// Expressions of XPath as flat arrays: what no pattern says, in a residual of a program.
//
// Expressions stand in post-order, each behind its parts, and every part belongs to one expression:
// they are trees, at most MOST_DEPTH deep.  What follows from the form alone is worked out once,
// from the parts upwards:
//
//     result          the kind of value, as far as it is known: predicates that are no numbers need
//                     no positions
//     uses_context    whether the value depends on the context item
//     uses_position   whether it depends on the context position or size
//     is_constant     whether it depends on the document alone, so that it is evaluated once
//     is_of_name      whether it depends on the name of the context item alone, in any document
//
// None of that is part of the bytes of a program, so a forged program cannot lie about it.
#pragma once

#include <optional>

#include "base/common.hpp"
#include "base/expression_codes.hpp"
#include "program/regular.hpp"

namespace twigcast::program {

using namespace base;

enum class Form : uint8_t {
    text,
    integer,
    decimal,
    number,
    context,
    root,
    along,
    filter,
    path,
    call,
    operation,
    variable,
    binding,
    conditional,
    typed,
};
constexpr size_t FORM_COUNT = 15;

enum class Binding : uint8_t { some, every, each, let };
enum class Typed : uint8_t { cast, castable, treat, instance };
enum class Occurrence : uint8_t { one, optional, any, some };

struct Expression {
    Form form;
    uint8_t code;           // of the axis, function, operator, Binding or Typed
    Occurrence occurrence;  // typed
    // along: the node test; variable and binding: the number of the variable, which is how many
    // bindings are around it; typed: a constructor of that type, or FUNCTION_COUNT and an ItemType
    uint32_t test;
    double number;
    std::string text;  // of a constant; the compiled regular expression of a call
    uint32_t children_begin, children_end;

    // What follows from all that.

    Result result = Result::any;
    bool uses_context = false, uses_position = false, is_constant = false;
    bool is_of_name = false;
    std::optional<Regular> regular;
};

class Expressions {
public:
    static constexpr uint32_t MOST_DEPTH = 1000;

    std::vector<Expression> all;
    std::vector<uint32_t> children;
    size_t variables = 0;  // that may be bound at once
    bool asks_for_qualifiers = false;

    const Expression& operator[](uint32_t number) const { return all[number]; }
    uint32_t count(const Expression& of) const { return of.children_end - of.children_begin; }
    uint32_t child(const Expression& of, uint32_t at) const {
        return children[of.children_begin + at];
    }

    // Whether every number leads somewhere and every form has the parts it needs; then also work
    // out what follows.
    bool settle(size_t tests) {
        std::vector<uint32_t> depths(all.size(), 1);
        std::vector<bool> taken(all.size());
        for (uint32_t number = 0; number < all.size(); ++number) {
            Expression& one = all[number];
            if (!read_regular(one)) return false;
            if (one.children_begin > one.children_end || one.children_end > children.size() ||
                !is_formed(one, tests)) {
                return false;
            }
            for (uint32_t at = one.children_begin; at < one.children_end; ++at) {
                const uint32_t child = children[at];
                if (child >= number || taken[child]) return false;
                taken[child] = true;
                depths[number] = std::max(depths[number], depths[child] + 1);
            }
            if (depths[number] > MOST_DEPTH) return false;
        }
        return find_facts();
    }

    static Axis axis_of(const Expression& one) { return static_cast<Axis>(one.code); }
    static Function function_of(const Expression& one) { return static_cast<Function>(one.code); }
    static Operator operator_of(const Expression& one) { return static_cast<Operator>(one.code); }

private:
    // False where a call needs a regular expression and has none.
    bool read_regular(Expression& one) const {
        if (one.form != Form::call) return true;
        const Function function = function_of(one);
        const bool needs = function == Function::matches || function == Function::replace ||
                           (function == Function::tokenize && count(one) > 1);
        return !needs || one.regular.emplace().read(one.text);
    }

    bool is_formed(const Expression& one, size_t tests) const {
        const uint32_t parts = count(one);
        switch (one.form) {
            case Form::text:
            case Form::integer:
            case Form::decimal:
            case Form::number:
            case Form::context:
            case Form::root: return parts == 0;
            case Form::along: return one.code < AXIS_COUNT && one.test < tests;
            case Form::filter: return parts >= 1;
            case Form::path: return parts >= 2;
            case Form::call:
                return one.code < FUNCTION_COUNT && parts >= FUNCTION_LEAST[one.code] &&
                       parts <= FUNCTION_MOST[one.code];
            case Form::operation:
                if (one.code >= OPERATOR_COUNT) return false;
                if (operator_of(one) == Operator::comma) return true;
                if (operator_of(one) == Operator::minus) return parts == 1 || parts == 2;
                return is_chain(operator_of(one)) ? parts >= 1 : parts == 2;
            case Form::variable: return parts == 0 && one.test <= MOST_DEPTH;
            case Form::binding: return parts == 2 && one.code < 4 && one.test <= MOST_DEPTH;
            case Form::conditional: return parts == 3;
            case Form::typed:
                return parts == 1 && one.code < 4 && one.test < FUNCTION_COUNT + ITEMTYPE_COUNT;
        }
        return false;
    }

    static bool is_chain(Operator operation) {
        return operation == Operator::either || operation == Operator::both ||
               operation == Operator::unite;
    }

    // False where a variable is not bound around it.
    bool find_facts() {
        std::vector<uint32_t> free(all.size(), NONE);  // the outermost variable within
        for (uint32_t number = 0; number < all.size(); ++number) {
            Expression& one = all[number];
            one.result = result_of(one);
            find_uses(one);
            if (one.form == Form::variable) free[number] = one.test;
            for (uint32_t at = one.children_begin; at < one.children_end; ++at) {
                free[number] = std::min(free[number], free[children[at]]);
            }
        }
        std::vector<uint32_t> bound(all.size(), 0);  // how many bindings are around it
        for (uint32_t number = count_of(all); number-- > 0;) {
            Expression& one = all[number];
            for (uint32_t at = 0; at < count(one); ++at) {
                const bool within = one.form == Form::binding && at == 1;
                bound[child(one, at)] = within ? one.test + 1 : bound[number];
            }
            if (one.form == Form::variable && one.test >= bound[number]) return false;
            if (one.form == Form::binding && one.test != bound[number]) return false;
            variables = std::max(variables, bound[number] + size_t{1});
            const bool closed = free[number] == NONE || free[number] >= bound[number];
            one.is_constant = !one.uses_context && !one.uses_position && closed;
        }
        for (Expression& one : all) {
            one.is_of_name = depends_on_name(one);
            asks_for_qualifiers |= one.form == Form::call && (function_of(one) == Function::name ||
                                                              function_of(one) == Function::id);
        }
        return true;
    }

    bool depends_on_name(const Expression& one) const {
        if (one.form < Form::context) return true;
        if (one.form == Form::call) {
            const Function function = function_of(one);
            if (function == Function::local_name || function == Function::namespace_uri) {
                return count(one) == 0 || all[child(one, 0)].form == Form::context;
            }
            if (is_of_document(function)) return false;
            if (lacks_argument(one)) return false;
        } else if (one.form != Form::conditional &&
                   (one.form != Form::operation || operator_of(one) == Operator::mapping)) {
            return false;
        }
        for (uint32_t at = 0; at < count(one); ++at) {
            if (!all[child(one, at)].is_of_name) return false;
        }
        return !one.uses_position;
    }

    static bool is_of_document(Function function) {
        return function == Function::id || function == Function::current_date ||
               function == Function::current_dateTime || function == Function::current_time;
    }

    // A call that takes the context item instead of an argument.
    bool lacks_argument(const Expression& one) const {
        const uint32_t full = function_of(one) == Function::lang ? 2 : 1;
        return FUNCTION_USES_CONTEXT[one.code] != 0 && count(one) < full;
    }

    void find_uses(Expression& one) const {
        // A focus of its own: predicates, and all steps of a path but the first.
        const bool own = one.form == Form::along || one.form == Form::filter ||
                         one.form == Form::path ||
                         (one.form == Form::operation && operator_of(one) == Operator::mapping);
        one.uses_context = one.form == Form::context || one.form == Form::along;
        one.uses_position = false;
        if (one.form == Form::call) {
            const Function function = function_of(one);
            const bool is_position = function == Function::position || function == Function::last;
            one.uses_position = is_position;
            one.uses_context = !is_position && lacks_argument(one);
        }
        const uint32_t parts = one.form == Form::along ? 0 : own ? 1 : count(one);
        for (uint32_t at = 0; at < parts; ++at) {
            one.uses_context |= all[child(one, at)].uses_context;
            one.uses_position |= all[child(one, at)].uses_position;
        }
    }

    Result result_of(const Expression& one) const {
        switch (one.form) {
            case Form::text: return Result::string;
            case Form::integer:
            case Form::decimal:
            case Form::number: return Result::number;
            case Form::root:
            case Form::along: return Result::nodes;
            case Form::filter: return all[child(one, 0)].result;
            case Form::path:
                return all[child(one, count(one) - 1)].result == Result::nodes ? Result::nodes
                                                                               : Result::any;
            case Form::call: return static_cast<Result>(FUNCTION_RESULT[one.code]);
            case Form::operation: return result_of(operator_of(one));
            case Form::binding: return one.code < 2 ? Result::boolean : Result::any;
            case Form::conditional: {
                const Result then = all[child(one, 1)].result;
                return then == all[child(one, 2)].result ? then : Result::any;
            }
            case Form::typed: return one.code % 2 == 1 ? Result::boolean : Result::any;
            case Form::context:
            case Form::variable: return Result::any;
        }
        return Result::any;
    }

    static Result result_of(Operator operation) {
        switch (operation) {
            case Operator::either:
            case Operator::both:
            case Operator::equal:
            case Operator::unequal:
            case Operator::less:
            case Operator::at_most:
            case Operator::greater:
            case Operator::at_least:
            case Operator::value_equal:
            case Operator::value_unequal:
            case Operator::value_less:
            case Operator::value_at_most:
            case Operator::value_greater:
            case Operator::value_at_least:
            case Operator::same_node:
            case Operator::node_before:
            case Operator::node_after: return Result::boolean;
            case Operator::concatenation: return Result::string;
            case Operator::unite:
            case Operator::intersect:
            case Operator::subtract: return Result::nodes;
            case Operator::plus:
            case Operator::minus:
            case Operator::times:
            case Operator::divide:
            case Operator::divide_whole:
            case Operator::modulo:  // of dates, no number
            case Operator::comma:
            case Operator::range:
            case Operator::mapping: return Result::any;
        }
        return Result::any;
    }
};

}  // namespace twigcast::program
