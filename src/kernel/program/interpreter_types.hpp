// Types: constructors, `cast as`, `castable as`, `treat as` and `instance of`.
//
//     decimal ◄─ integer ◄─ long ◄─ int ◄─ short ◄─ byte
//                   ▲ ▲──── nonPositiveInteger ◄─ negativeInteger
//                   └────── nonNegativeInteger ◄─ positiveInteger, unsignedLong ◄─ unsignedInt ◄─ …
//     string ◄─ normalizedString ◄─ token          duration ◄─ dayTimeDuration, yearMonthDuration
#pragma once

#include "program/interpreter_sequences.hpp"

namespace twigcast::program {

// The type that another is derived from; itself where there is none.
inline Function base_of(Function type) {
    if (type == Function::xs_integer) return Function::xs_decimal;
    if (type == Function::xs_long || type == Function::xs_nonNegativeInteger ||
        type == Function::xs_nonPositiveInteger) {
        return Function::xs_integer;
    }
    if (type == Function::xs_int) return Function::xs_long;
    if (type == Function::xs_short) return Function::xs_int;
    if (type == Function::xs_byte) return Function::xs_short;
    if (type == Function::xs_positiveInteger || type == Function::xs_unsignedLong) {
        return Function::xs_nonNegativeInteger;
    }
    if (type == Function::xs_negativeInteger) return Function::xs_nonPositiveInteger;
    if (type == Function::xs_unsignedInt) return Function::xs_unsignedLong;
    if (type == Function::xs_unsignedShort) return Function::xs_unsignedInt;
    if (type == Function::xs_unsignedByte) return Function::xs_unsignedShort;
    if (type == Function::xs_token) return Function::xs_normalizedString;
    if (type == Function::xs_normalizedString) return Function::xs_string;
    if (type == Function::xs_dayTimeDuration || type == Function::xs_yearMonthDuration) {
        return Function::xs_duration;
    }
    return type;
}

// The constructor of an atomic value's type.
inline Function constructor_of(const Item& atom) {
    if (atom.subtype != 0) return static_cast<Function>(atom.subtype);
    switch (atom.type) {
        case Type::untyped: return Function::xs_untypedAtomic;
        case Type::uri: return Function::xs_anyURI;
        case Type::boolean: return Function::xs_boolean;
        case Type::integer: return Function::xs_integer;
        case Type::decimal: return Function::xs_decimal;
        case Type::real_32: return Function::xs_float;
        case Type::real: return Function::xs_double;
        case Type::date: return Function::xs_date;
        case Type::date_time: return Function::xs_dateTime;
        case Type::time: return Function::xs_time;
        case Type::duration: return Function::xs_duration;
        case Type::day_time: return Function::xs_dayTimeDuration;
        case Type::year_month: return Function::xs_yearMonthDuration;
        case Type::text:
        case Type::node: break;
    }
    return Function::xs_string;
}

// Whether an item is of a type, numbered as in Expression::test.
inline bool Interpreter::is_of_type(const Item& item, uint32_t type) const {
    if (type < FUNCTION_COUNT) {
        if (item.is_node()) return false;
        const Function wanted = static_cast<Function>(type);
        Function known = constructor_of(item);
        while (known != wanted && base_of(known) != known) known = base_of(known);
        return known == wanted;
    }
    const ItemType wanted = static_cast<ItemType>(type - FUNCTION_COUNT);
    if (wanted == ItemType::item) return true;
    if (wanted == ItemType::xs_anyAtomicType) return !item.is_node();
    if (!item.is_node()) return false;
    if (wanted == ItemType::node) return true;
    const Kind kind = axes_.kind(item.node);
    if (wanted == ItemType::document_node) return kind == Kind::document;
    if (wanted == ItemType::element) return kind == Kind::element;
    if (wanted == ItemType::attribute) return kind == Kind::attribute;
    if (wanted == ItemType::text) return kind == Kind::text;
    if (wanted == ItemType::comment) return kind == Kind::comment;
    if (wanted == ItemType::processing_instruction) return kind == Kind::instruction;
    return kind == Kind::space;
}

inline Sequence Interpreter::constructed(Function type, uint32_t number, const Focus& focus) {
    const Operand value = operand(number, focus);
    if (value->empty()) return {};
    if (value->size() > 1) fail("several values where one is wanted");
    Item result;
    if (!cast(atom_of((*value)[0]), type, result, work_)) {
        fail("a value that is none of the type that is wanted");
    }
    return result;
}

inline Sequence Interpreter::typed(Part one, const Focus& focus) {
    const Operand value = operand(child(one, 0), focus);
    const bool may_miss =
        one.occurrence == Occurrence::optional || one.occurrence == Occurrence::any;
    const bool may_repeat = one.occurrence == Occurrence::any || one.occurrence == Occurrence::some;
    const bool fits = (may_miss || !value->empty()) && (may_repeat || value->size() <= 1);
    const Typed kind = static_cast<Typed>(one.code);
    if (kind == Typed::cast || kind == Typed::castable) {
        Item result;
        bool is_cast = fits && one.test < FUNCTION_COUNT;
        if (is_cast && !value->empty()) {
            is_cast = cast(atom_of((*value)[0]), static_cast<Function>(one.test), result, work_);
        }
        if (kind == Typed::castable) return Item::of(is_cast);
        if (!is_cast) fail("a value that is none of the type that is wanted");
        return value->empty() ? Sequence() : Sequence(result);
    }
    bool is_instance = fits;
    for (size_t at = 0; at < value->size() && is_instance; ++at) {
        is_instance = is_of_type((*value)[at], one.test);
    }
    if (kind == Typed::instance) return Item::of(is_instance);
    if (!is_instance) fail("a value that is none of the type that is wanted");
    return *value;
}

}  // namespace twigcast::program
