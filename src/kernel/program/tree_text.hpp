// The text of an expression, read as a plain tree.
//
//     path        := ('/' | '//')? step (('/' | '//') step)*
//     step        := ('@'? (name | '*') | 'text()') ('[' digits ']')? ('[' conditions ']')*
//     conditions  := condition ('and' condition)*
//     condition   := ('.' ('/' | '//'))? path-without-slash (operator literal)?
//                  | '.' operator literal | function '(' ('.' | '@' name) ',' literal ')'
//     literal     := '-'? digits ('.' digits)? | a text in quotes
//
// with white space between tokens.  Everything else is not an error but `Unsure`: prefixes, other
// functions, `or`, axes, mistakes.  Python reads those.  Within its bounds, which are narrower than
// those of the language, an expression means here what `twigcast.language` says.
//
// Cost: one pass; recursion is bounded by MOST_DEPTH.
#pragma once

#include "base/number_text.hpp"
#include "program/characters.hpp"
#include "program/tree.hpp"

namespace twigcast::program {

using namespace base;

class TreeText {
public:
    // False where Python has to read it.  The names of the tree lie in the text.
    static bool read(std::string_view text, Tree& tree) {
        if (text.size() > MOST_BYTES || text.find("(:") != std::string_view::npos) return false;
        try {
            TreeText(text, tree).read_pattern();
            return true;
        } catch (const Unsure&) {
            return false;
        }
    }

private:
    static constexpr size_t MOST_BYTES = 4000;
    // The language has three times as much, and the normal form may be three times as deep.
    static constexpr uint32_t MOST_DEPTH = 30;

    TreeText(std::string_view text, Tree& tree) : text_(text), tree_(tree) {}

    void read_pattern() {
        skip_space();
        const bool descendant = !take('/') || take('/');
        skip_space();
        const uint32_t root = read_step(descendant, 1, false);
        if (at_ != text_.size()) throw Unsure();
        tree_.set_root(root);
    }

    // --- paths --------------------------------------------------------------------------------

    // A step and all behind it.  Within a predicate a comparison may follow.
    uint32_t read_step(bool descendant, uint32_t depth, bool in_predicate) {
        if (depth > MOST_DEPTH) throw Unsure();
        Kind kind = Kind::element;
        if (take('@')) {
            kind = Kind::attribute;
            skip_space();
        }
        std::string_view name;
        if (!take('*')) name = take_name();
        skip_space();
        if (name == "text" && kind == Kind::element && take('(')) {
            skip_space();
            expect(')');
            kind = Kind::text;
            name = {};
        }
        uint32_t position = 0;
        std::vector<uint32_t> conditions;
        while (take('[')) {
            skip_space();
            if (is_digit(peek()) && position == 0 && conditions.empty()) {
                if (kind == Kind::attribute) throw Unsure();
                position = take_position();
            } else {
                read_conditions(depth + 1, conditions);
            }
            expect(']');
        }
        if (take('/')) {
            const bool below_descendant = take('/');
            skip_space();
            conditions.push_back(read_step(below_descendant, depth + 1, in_predicate));
        } else if (in_predicate && at_comparison()) {
            conditions.push_back(read_comparison());
        }
        const auto is_step = [this](uint32_t number) { return tree_[number].is_step; };
        if (kind != Kind::element && std::any_of(conditions.begin(), conditions.end(), is_step)) {
            throw Unsure();  // nothing lies below an attribute or a text node
        }
        return tree_.add_branch(descendant, kind, name, position, std::move(conditions));
    }

    uint32_t take_position() {
        constexpr size_t MOST_DIGITS = 9;
        const size_t begin = at_;
        uint32_t position = 0;
        while (is_digit(peek())) position = position * 10 + static_cast<uint32_t>(take() - '0');
        if (at_ - begin > MOST_DIGITS || position == 0) throw Unsure();
        skip_space();
        return position;
    }

    // --- conditions ---------------------------------------------------------------------------

    void read_conditions(uint32_t depth, std::vector<uint32_t>& conditions) {
        std::vector<uint32_t> members{read_condition(depth)};
        while (peek() != ']') {
            if (take_name() != "and") throw Unsure();
            skip_space();
            members.push_back(read_condition(depth));
        }
        tree_.conjoin(members);
        conditions.insert(conditions.end(), members.begin(), members.end());
    }

    uint32_t read_condition(uint32_t depth) {
        if (take('.')) {
            skip_space();
            if (!take('/')) return read_comparison();
            const bool descendant = take('/');
            skip_space();
            return read_step(descendant, depth + 1, true);
        }
        const size_t begin = at_;
        if (is_letter(peek())) {
            const std::string_view name = take_name();
            skip_space();
            const Comparison function = find_comparison(name, true);
            if (function != NO_COMPARISON && take('(')) return read_function(function);
            at_ = begin;
        }
        return read_step(false, depth + 1, true);
    }

    // Of the text of a node, or of an attribute, of which there is one at the most.
    uint32_t read_function(Comparison function) {
        skip_space();
        std::string_view attribute;
        if (take('@')) {
            skip_space();
            attribute = take_name();
        } else if (!take('.')) {
            throw Unsure();
        }
        skip_space();
        expect(',');
        ValueTest test;
        test.comparison = function;
        test.text = take_text();
        test.number = to_number(test.text);
        if (test.text.empty()) throw Unsure();
        expect(')');
        const uint32_t comparison = tree_.add_comparison(std::move(test));
        if (attribute.empty()) return comparison;
        return tree_.add_branch(false, Kind::attribute, attribute, 0, {comparison});
    }

    bool at_comparison() const {
        const char next = peek();
        return next == '=' || next == '!' || next == '<' || next == '>';
    }

    uint32_t read_comparison() {
        const size_t begin = at_;
        if (!at_comparison()) throw Unsure();
        const char first = take();
        if (first != '=') take('=');
        if (peek() == first && first != '=') throw Unsure();  // `<<` and `>>` are other operators
        const std::string_view spelling = text_.substr(begin, at_ - begin);
        skip_space();
        ValueTest test;
        if (peek() == '"' || peek() == '\'') {
            test.text = take_text();
            test.number = to_number(test.text);
            test.comparison = find_comparison(spelling, true);
            if (test.comparison == NO_COMPARISON) test.text.clear();  // only numbers have an order
        } else {
            test.comparison = NO_COMPARISON;
            test.number = take_number();
        }
        if (test.comparison == NO_COMPARISON) {
            test.comparison = find_comparison(spelling, false);
            test.number += 0.0;  // a negative zero becomes zero
        }
        if (test.comparison == NO_COMPARISON) throw Unsure();
        if (!test.is_text() && !std::isfinite(test.number)) throw Unsure();
        return tree_.add_comparison(std::move(test));
    }

    static constexpr Comparison NO_COMPARISON = static_cast<Comparison>(COMPARISON_COUNT);

    static Comparison find_comparison(std::string_view spelling, bool is_text) {
        const uint8_t end = is_text ? COMPARISON_COUNT : NUMBER_COUNT;
        for (uint8_t code = is_text ? NUMBER_COUNT : 0; code < end; ++code) {
            if (spelling == SPELLINGS[code]) return static_cast<Comparison>(code);
        }
        return NO_COMPARISON;
    }

    // --- tokens -------------------------------------------------------------------------------

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char take() { return text_[at_++]; }
    bool take(char wanted) {
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    void skip_space() {
        while (is_space(peek())) ++at_;
    }
    void expect(char wanted) {
        if (!take(wanted)) throw Unsure();
        skip_space();
    }

    static bool is_letter(char byte) {
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
    }

    std::string_view take_name() {
        const size_t begin = at_;
        while (at_ < text_.size()) {
            const char byte = text_[at_];
            const bool is_first = at_ == begin;
            if (is_letter(byte) || (!is_first && (is_digit(byte) || byte == '-' || byte == '.'))) {
                ++at_;
                continue;
            }
            size_t end = at_;
            if (!is_in_name(take_character(text_, end), is_first)) break;
            at_ = end;
        }
        if (at_ == begin) throw Unsure();
        return text_.substr(begin, at_ - begin);
    }

    // Whether a character beyond ASCII may stand in a name: `twigcast.language.tokens`.
    static bool is_in_name(uint32_t character, bool is_first) {
        constexpr uint32_t FIRST[][2] = {{0xC0, 0xD6},     {0xD8, 0xF6},     {0xF8, 0x2FF},
                                         {0x370, 0x37D},   {0x37F, 0x1FFF},  {0x200C, 0x200D},
                                         {0x2070, 0x218F}, {0x2C00, 0x2FEF}, {0x3001, 0xD7FF},
                                         {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF}};
        constexpr uint32_t LATER[][2] = {{0xB7, 0xB7}, {0x300, 0x36F}, {0x203F, 0x2040}};
        const auto holds = [character](const uint32_t (&range)[2]) {
            return range[0] <= character && character <= range[1];
        };
        return std::any_of(std::begin(FIRST), std::end(FIRST), holds) ||
               (!is_first && std::any_of(std::begin(LATER), std::end(LATER), holds));
    }

    // A text in quotes, and the white space behind it.
    std::string take_text() {
        const char mark = peek();
        if (mark != '"' && mark != '\'') throw Unsure();
        const size_t begin = at_ + 1, end = text_.find(mark, begin);
        if (end == std::string_view::npos) throw Unsure();
        at_ = end + 1;
        if (peek() == mark) throw Unsure();  // two quotes stand for one
        skip_space();
        return std::string(text_.substr(begin, end - begin));
    }

    // A number, and the white space behind it.
    double take_number() {
        const bool negative = take('-');
        skip_space();
        const size_t begin = at_;
        while (is_digit(peek())) ++at_;
        if (take('.')) {
            while (is_digit(peek())) ++at_;
        }
        if (peek() == 'e' || peek() == 'E') throw Unsure();
        const double number = to_number(text_.substr(begin, at_ - begin));
        skip_space();
        return negative ? -number : number;
    }

    std::string_view text_;
    Tree& tree_;
    size_t at_ = 0;
};

// The text of a plain tree's normal form; false where Python has to read the expression.
inline bool read_normal_form(std::string_view text, std::string& form) {
    Tree tree;
    if (!TreeText::read(text, tree)) return false;
    form = tree.root().text;
    return true;
}

}  // namespace twigcast::program
