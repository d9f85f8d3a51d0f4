// Atomic values of nodes, and items as texts and numbers.
//
// By the rules of XPath 1.0 the first item of a sequence stands for all of it, and none is the
// empty text or no number.  By those of version 2 an argument is at most one item of the right
// type.
#pragma once

#include <limits>

#include "program/casting.hpp"
#include "program/characters.hpp"
#include "program/interpreter.hpp"
#include "program/number_spelling.hpp"

namespace twigcast::program {

inline std::string_view Interpreter::value_of(uint32_t node) const {
    return axes_.spaces.has(node) ? axes_.spaces.space_of(node) : document_.value_of(node);
}

// The values of comments, instructions and namespaces are strings, all others are untyped.
inline Item Interpreter::atom_of(const Item& item) const {
    if (!item.is_node()) return item;
    const Kind kind = axes_.kind(item.node);
    const bool is_text = kind == Kind::comment || kind == Kind::instruction || kind == Kind::space;
    return Item::of_text(value_of(item.node), is_text ? Type::text : Type::untyped);
}

inline std::string_view Interpreter::text_of(const Item& item) {
    if (item.is_text()) return item.view();
    if (item.is_node()) return value_of(item.node);
    if (!is_version_2_ && (item.type == Type::real || item.is_literal)) {
        double number = 0;
        to_double(item, number);
        return work_.keep(spell_as_libxml2(number).view());
    }
    return spell(item, work_);
}

inline double Interpreter::number_of(const Item& item) const {
    const Item atom = atom_of(item);
    if (atom.is_text() && !is_version_2_) return to_number(atom.view());
    double number = 0;
    return to_double(atom, number) ? number : std::numeric_limits<double>::quiet_NaN();
}

// The one atomic value of an expression; false where there is none.
inline bool Interpreter::take_atom(uint32_t number, const Focus& focus, Item& atom) {
    const Expression& one = expressions_[number];
    if (one.form == Form::context || one.form == Form::text) {
        atom = one.form == Form::text ? Item::of_text(one.text) : atom_of(focus.item);
        return true;
    }
    if (!is_version_2_ && one.result == Result::nodes && !one.is_constant) {
        const uint32_t node = first_node(number, focus);
        if (node != NONE) atom = atom_of(Item::of_node(node));
        return node != NONE;
    }
    const Operand value = operand(number, focus);
    if (value->empty()) return false;
    if (value->size() > 1 && is_version_2_) fail("several values where one is wanted");
    atom = atom_of((*value)[0]);
    return true;
}

// A text that a function is given.
inline std::string_view Interpreter::text_at(uint32_t number, const Focus& focus,
                                             bool of_any_type) {
    Item atom;
    if (!take_atom(number, focus, atom)) return "";
    if (is_version_2_ && !of_any_type && !atom.is_text()) fail("a value that is no text");
    return text_of(atom);
}

// A number that a function needs.
inline double Interpreter::number_at(uint32_t number, const Focus& focus) {
    Item item;
    if (!number_item_at(number, focus, item)) fail("no number where one is wanted");
    double result = 0;
    to_double(item, result);
    return result;
}

// The same with its type.  By the rules of XPath 1.0 there is always one, and it is a double.
inline bool Interpreter::number_item_at(uint32_t number, const Focus& focus, Item& item) {
    const bool is_there = take_atom(number, focus, item);
    if (!is_version_2_) {
        item = Item::of(is_there ? number_of(item) : std::numeric_limits<double>::quiet_NaN());
        return true;
    }
    if (!is_there) return false;
    if (item.type == Type::untyped) {
        double value = 0;
        if (!to_double(item, value)) fail("a text that is no number");
        item = Item::of(value);
    }
    if (!item.is_numeric()) fail("a value that is no number");
    return true;
}

}  // namespace twigcast::program
