// Both readers of the kernel, compared event by event, and documents with damage to compare them on.
//
//     document ──► checked reader ──► log of events ─┐
//             └──► expat ──────────► log of events ──┴► the same, or a finding
//
// The checked reader may leave a document to expat.  It must not take one that expat refuses, nor
// see other events.
#pragma once

#include <random>

#include "xml/document.hpp"
#include "xml/reader.hpp"

namespace lab {

using namespace twigcast::base;
using namespace twigcast::xml;

// A sink that writes all events down.
class EventLog : public WithDeclarations {
public:
    std::string text;

    Trouble open_document(size_t) {
        text.clear();
        in_text_ = false;
        if (names_.size() > 1000) {
            names_ = {};
            ++renewals_;
        }
        return Trouble::none;
    }
    bool wants_text() const { return true; }
    uint32_t number_of(Kind, std::string_view name) { return names_.intern(name); }
    uint64_t numbering() const { return renewals_; }
    void declare(std::string_view prefix, std::string_view space) {
        write('n', prefix);
        write('=', space);
    }
    Trouble open_element(uint32_t name, const Attributes& attributes, uint32_t depth) {
        write_name('<', name);
        text += std::to_string(depth);
        for (const Attribute& attribute : attributes) {
            write_name('@', attribute.name);
            write('=', attribute.value);
        }
        return Trouble::none;
    }
    Trouble close_element() {
        write('>', {});
        return Trouble::none;
    }
    Trouble add_text(std::string_view piece) {
        if (!in_text_) write('t', {});
        in_text_ = true;
        text += piece;
        return Trouble::none;
    }
    Trouble add_comment(std::string_view comment) {
        write('!', comment);
        return Trouble::none;
    }
    Trouble add_instruction(std::string_view target, std::string_view data) {
        write('?', target);
        write('=', data);
        return Trouble::none;
    }

private:
    void write(char kind, std::string_view what) {
        in_text_ = false;
        text += '\0';
        text += kind;
        text += what;
    }
    void write_name(char kind, uint32_t name) {
        write(kind, names_.namespace_of(name));
        text += NAMESPACE_SEPARATOR;
        text += names_.local_of(name);
    }

    Names names_;
    uint64_t renewals_ = 0;
    bool in_text_ = false;
};

// A sink that counts events: for the time of reading alone.
class EventCounter {
public:
    size_t count = 0;

    Trouble open_document(size_t) { return Trouble::none; }
    bool wants_text() const { return true; }
    uint32_t number_of(Kind, std::string_view) { return 0; }
    uint64_t numbering() const { return 0; }
    Trouble open_element(uint32_t, const Attributes& attributes, uint32_t) {
        return add(1 + attributes.size());
    }
    Trouble close_element() { return add(1); }
    Trouble add_text(std::string_view) { return add(1); }
    Trouble add_comment(std::string_view) { return add(1); }
    Trouble add_instruction(std::string_view, std::string_view) { return add(1); }

private:
    Trouble add(size_t more) {
        count += more;
        return Trouble::none;
    }
};

constexpr Limits USUAL_LIMITS{512, 1000, 4000}, STRICT_LIMITS{4, 2, 12};

enum Outcome { alike, left_to_expat, refused, wrongly_taken, other_events, OUTCOMES };

class Readers {
public:
    explicit Readers(const ExpatTable* expat) : memory_(expat) {}

    Outcome compare(const Input& input, const Limits& limits) {
        const bool is_taken =
            CheckedReader<EventLog>(limits, checked_, memory_.checked).read(input);
        const Failure failure =
            ExpatReader<EventLog>(memory_.expat, limits, by_expat_, memory_.arena).read(input);
        if (failure.trouble != Trouble::none) return is_taken ? wrongly_taken : refused;
        if (!is_taken) return left_to_expat;
        return checked_.text == by_expat_.text ? alike : other_events;
    }

    // How many events the documents have; those that cannot be read have none.
    size_t count_events(const std::vector<Input>& inputs, const Limits& limits) {
        EventCounter counter;
        for (const Input& input : inputs)
            Reader<EventCounter>(limits, counter, memory_).read(input);
        return counter.count;
    }

private:
    ReaderMemory memory_;
    EventLog checked_, by_expat_;
};

// Documents with a few damages each, for ever.
class Mutator {
public:
    Mutator(std::vector<std::string> seeds, std::vector<std::string> tokens, uint64_t seed)
        : seeds_(std::move(seeds)), tokens_(std::move(tokens)), random_(seed) {}

    const std::string& draw() {
        document_ = seeds_[below(seeds_.size())];
        for (size_t times = 1 + below(3); times != 0; --times) damage();
        return document_;
    }

    size_t below(size_t bound) { return random_() % bound; }

private:
    void damage() {
        const size_t at = below(document_.size() + 1);
        const size_t length = std::min(document_.size() - at, below(below(4) == 0 ? 200 : 4));
        const char letter = "aZ0-. \n\t"[below(8)];
        switch (below(10)) {
            case 0: document_.erase(at, length); break;
            case 1:
                document_.insert(at, document_.substr(below(document_.size() + 1), length));
                break;
            case 2: document_.insert(at, tokens_[below(tokens_.size())]); break;
            case 3: document_.replace(at, length, tokens_[below(tokens_.size())]); break;
            case 4:
                if (at < document_.size()) document_[at] = static_cast<char>(random_());
                break;
            case 5:
                if (at < document_.size()) document_[at] ^= static_cast<char>(1 << below(8));
                break;
            case 6: document_.insert(at, 1, letter); break;
            case 7:
                if (at < document_.size()) document_[at] = letter;
                break;
            case 8: {  // in the text, where little is forbidden
                const size_t text = document_.find('>', at);
                if (text + 1 < document_.size()) {
                    document_.insert(text + 1, tokens_[below(tokens_.size())]);
                }
                break;
            }
            default: {
                const std::string& other = seeds_[below(seeds_.size())];
                const size_t from = below(other.size() + 1);
                document_.insert(at, other.substr(from, below(60)));
            }
        }
    }

    const std::vector<std::string> seeds_, tokens_;
    std::mt19937_64 random_;
    std::string document_;
};

struct Findings {
    size_t counts[OUTCOMES] = {};
    std::string example;  // of a finding
};

// Compare the readers on as many damaged documents.
inline Findings fuzz(const ExpatTable* expat, const std::vector<std::string>& seeds,
                     const std::vector<std::string>& tokens, uint64_t seed, size_t count) {
    constexpr const char* ENCODINGS[] = {"utf-8", "iso-8859-1", "us-ascii"};
    Readers readers(expat);
    Mutator mutator(seeds, tokens, seed);
    Findings findings;
    for (; count != 0; --count) {
        const std::string& document = mutator.draw();
        // In memory of its own, so that a sanitizer sees what is read beyond its end.
        const std::vector<char> bytes(document.begin(), document.end());
        Input input{};
        input.data = bytes.data();
        input.size = bytes.size();
        input.encoding = mutator.below(4) == 0 ? ENCODINGS[mutator.below(3)] : nullptr;
        input.has_type = document.find("<!DOCTYPE") != std::string::npos;
        const Outcome outcome =
            readers.compare(input, mutator.below(8) == 0 ? STRICT_LIMITS : USUAL_LIMITS);
        if (++findings.counts[outcome] == 1 && outcome >= wrongly_taken)
            findings.example = document;
    }
    return findings;
}

}  // namespace lab
