// The node tests of all subscriptions, numbered, and which of them a name passes.
//
// A name of a document passes at most four tests of its kind: the one of exactly that name, the
// one of its local part (`*:a`), the one of its namespace (`Q{uri}*`), and `*`.  So a table from
// strings to tests, asked at most three times, answers for any number of subscriptions; a name
// that no subscription mentions passes `*` only, and all such names are one.
#pragma once

#include "base/common.hpp"
#include "base/flat_array.hpp"
#include "base/hash.hpp"
#include "base/slots.hpp"

namespace twigcast::index {

using namespace base;

constexpr uint32_t ANY_ELEMENT = 0;
constexpr uint32_t ANY_ATTRIBUTE = 1;
constexpr uint32_t ANY_TEXT = 2;

enum class Form : uint32_t { any, name, local, space };

struct Test {
    Kind kind;
    Form form;
    uint32_t word;  // in Tests' words; NONE for `any`
};

class Tests {
public:
    Tests() {
        tests_.add({Kind::element, Form::any, NONE});
        tests_.add({Kind::attribute, Form::any, NONE});
        tests_.add({Kind::text, Form::any, NONE});
        partial_.add(0);
    }

    const Test& operator[](uint32_t test) const { return tests_[test]; }
    uint32_t count() const { return tests_.count(); }
    bool has_partial(Kind kind) const { return (partial_[0] & bit(kind)) != 0; }

    // The word of a name as expat spells it, or NONE.
    uint32_t find_word(std::string_view text, const HashSecret& secret) const {
        return slots_.find(hash_of(text, secret),
                           [&](uint32_t word) { return text_of(word) == text; });
    }
    uint32_t word_count() const { return words_.count(); }

    // The test of that kind and form on a word, or NONE.
    uint32_t on_word(uint32_t word, Kind kind, Form form) const {
        return word == NONE ? NONE : words_[word].tests[slot_of(kind, form)];
    }

    uint32_t intern(Kind kind, Form form, std::string_view text, const HashSecret& secret) {
        if (form == Form::any) {
            return kind == Kind::element     ? ANY_ELEMENT
                   : kind == Kind::attribute ? ANY_ATTRIBUTE
                                             : ANY_TEXT;
        }
        const uint32_t word = intern_word(text, secret);
        const uint32_t known = words_[word].tests[slot_of(kind, form)];
        if (known != NONE) return known;
        const uint32_t test = tests_.add({kind, form, word});
        words_.edit(word).tests[slot_of(kind, form)] = test;
        if (form != Form::name) partial_.edit(0) |= bit(kind);
        return test;
    }

    // What the test asks of a name, by its form; empty for `any`.
    std::string_view word_of(const Test& test) const {
        return test.form == Form::any ? std::string_view{} : text_of(test.word);
    }

    // The canonical spelling, as in `twigcast.language`.
    std::string spelling(uint32_t number) const {
        const Test& test = tests_[number];
        if (test.kind == Kind::text) return "text()";
        const std::string mark = test.kind == Kind::attribute ? "@" : "";
        if (test.form == Form::any) return mark + "*";
        const std::string_view text = text_of(test.word);
        if (test.form == Form::local) return mark + "*:" + std::string(text);
        if (test.form == Form::space) return mark + "Q{" + std::string(text) + "}*";
        const size_t separator = text.find(NAMESPACE_SEPARATOR);
        if (separator == std::string_view::npos) return mark + std::string(text);
        return mark + "Q{" + std::string(text.substr(0, separator)) + "}" +
               std::string(text.substr(separator + 1));
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(tests_);
        visit(words_);
        visit(bytes_);
        visit(partial_);
        slots_.each_array(visit);
    }

    bool is_sound() {
        if (tests_.size() < 3 || partial_.size() != 1) return false;
        for (size_t at = 0; at < words_.size(); ++at) {
            const Word& word = words_[at];
            if (word.begin > bytes_.size() || word.length > bytes_.size() - word.begin)
                return false;
            for (size_t slot = 0; slot < 6; ++slot) {
                if (word.tests[slot] == NONE) continue;
                if (word.tests[slot] >= tests_.size()) return false;
                const Test& test = tests_[word.tests[slot]];
                if (test.word != at || test.form == Form::any || test.kind == Kind::text)
                    return false;
                if (slot_of(test.kind, test.form) != slot) return false;
            }
        }
        for (size_t at = 0; at < tests_.size(); ++at) {
            const Test& test = tests_[at];
            if (static_cast<uint32_t>(test.kind) > 3 || static_cast<uint32_t>(test.form) > 3) {
                return false;
            }
            if ((test.form == Form::any) != (at < 3)) return false;
            if (test.form != Form::any && test.word >= words_.size()) return false;
            const bool is_text = test.kind == Kind::text,
                       is_attribute = test.kind == Kind::attribute;
            if (test.kind == Kind::document || is_text != (at == ANY_TEXT)) return false;
            if (at < 3 && is_attribute != (at == ANY_ATTRIBUTE)) return false;
        }
        return slots_.is_sound(words_.size());
    }

    // Of sound arrays, whether the hash table leads to each word and each test.  Else one would be
    // added again, and a name would lead sometimes to the one and sometimes to the other.
    bool are_reachable(const HashSecret& secret) const {
        for (uint32_t word = 0; word < words_.count(); ++word) {
            if (find_word(text_of(word), secret) != word) return false;
        }
        for (uint32_t at = 3; at < tests_.count(); ++at) {
            const Test& test = tests_[at];
            if (on_word(test.word, test.kind, test.form) != at) return false;
        }
        return true;
    }

private:
    struct Word {
        uint64_t begin;
        uint32_t length;
        uint32_t tests[6];  // by kind and form
    };

    static size_t slot_of(Kind kind, Form form) {
        return (kind == Kind::attribute ? 3 : 0) + static_cast<size_t>(form) - 1;
    }
    static uint32_t bit(Kind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }

    std::string_view text_of(uint32_t word) const {
        return {bytes_.data() + words_[word].begin, words_[word].length};
    }

    uint32_t intern_word(std::string_view text, const HashSecret& secret) {
        const uint32_t known = find_word(text, secret);
        if (known != NONE) return known;
        const uint64_t begin = bytes_.append(text.data(), text.size());
        const uint32_t word =
            words_.add({begin, count_of(text), {NONE, NONE, NONE, NONE, NONE, NONE}});
        slots_.add(hash_of(text, secret), word,
                   [&](uint32_t other) { return hash_of(text_of(other), secret); });
        return word;
    }

    FlatArray<Test> tests_;
    FlatArray<Word> words_;
    FlatArray<char> bytes_;
    FlatArray<uint32_t> partial_;  // one: the kinds that have tests of a part of the name
    Slots slots_;
};

}  // namespace twigcast::index
