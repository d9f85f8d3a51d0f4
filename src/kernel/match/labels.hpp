// Names as far as the subscriptions distinguish them.
//
// A label is the set of node tests that a name passes.  All names that no subscription mentions are
// one label, so a document full of strange names teaches nothing that has to be remembered.
#pragma once

#include <array>
#include <map>

#include "index/index.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

struct Label {
    TestSet tests;                         // that it passes, the first `count`
    std::array<uint16_t, 4> child_tested;  // the bits of edges to these tests
    std::array<uint16_t, 4> below_tested;
    uint32_t count;
    uint64_t version;  // when a trie node of such a test last changed
};

class Labels {
public:
    static constexpr uint32_t TEXT = ANY_TEXT;  // the label of text nodes

    const Label& operator[](uint32_t label) const { return labels_[label]; }
    size_t byte_size() const { return labels_.size() * (sizeof(Label) + 64); }

    // Start anew with an index.
    void forget(const Index& index) {
        index_ = &index;
        labels_.clear();
        labels_by_tests_.clear();
        for (const uint32_t test : {ANY_ELEMENT, ANY_ATTRIBUTE, ANY_TEXT}) {
            intern({test, NONE, NONE, NONE});  // which gets that number
        }
        forget_names();
    }

    // The index has changed.
    void follow(const Index& index) {
        index_ = &index;
        for (Label& label : labels_) label.version = version_of(label);
        if (tests_known_ != index.tests.count()) forget_names();
    }

    // As long as this is the same, a name has the same label.
    uint64_t numbering() const { return renewals_; }

    uint32_t of(Kind kind, std::string_view name) {
        const uint32_t word = index_->tests.find_word(name, index_->secret);
        if (word == NONE && !index_->tests.has_partial(kind)) {
            return kind == Kind::element ? ANY_ELEMENT : ANY_ATTRIBUTE;
        }
        std::vector<uint32_t>& known = known_labels_[kind == Kind::attribute];
        if (word != NONE && known[word] != NONE) return known[word];
        const uint32_t label = find(kind, name, word);
        if (word != NONE) known[word] = label;
        return label;
    }

    // The label of names that pass these tests, and the other way round.
    uint32_t intern(const TestSet& tests) {
        const auto [entry, is_new] = labels_by_tests_.emplace(tests, count_of(labels_));
        if (!is_new) return entry->second;
        Label label{};
        for (const uint32_t test : tests) {
            if (test == NONE) continue;
            label.tests[label.count] = test;
            label.child_tested[label.count] = tested(Trie::edge_to(index_->tests, test, false));
            label.below_tested[label.count] = tested(Trie::edge_to(index_->tests, test, true));
            ++label.count;
        }
        label.version = version_of(label);
        labels_.push_back(label);
        return entry->second;
    }
    std::vector<TestSet> all() const {
        std::vector<TestSet> all(labels_.size());
        for (const auto& [tests, number] : labels_by_tests_) all[number] = tests;
        return all;
    }

    bool passes(uint32_t number, uint32_t test) const {
        const Label& label = labels_[number];
        const auto end = label.tests.begin() + label.count;
        return std::find(label.tests.begin(), end, test) != end;
    }

private:
    // Forget which name has which label: new tests may distinguish names that were alike.
    void forget_names() {
        ++renewals_;
        tests_known_ = index_->tests.count();
        for (std::vector<uint32_t>& known : known_labels_) {
            known.assign(index_->tests.word_count(), NONE);
        }
    }

    uint64_t version_of(const Label& label) const {
        uint64_t version = 0;
        for (uint32_t at = 0; at < label.count; ++at) {
            version = std::max(version, index_->test_version(label.tests[at]));
        }
        return version;
    }

    uint32_t find(Kind kind, std::string_view name, uint32_t word) {
        const Tests& tests = index_->tests;
        const uint32_t any = kind == Kind::element ? ANY_ELEMENT : ANY_ATTRIBUTE;
        const size_t separator = name.find(NAMESPACE_SEPARATOR);
        const bool plain = separator == std::string_view::npos;
        const std::string_view space = plain ? std::string_view{} : name.substr(0, separator);
        const std::string_view local = plain ? name : name.substr(separator + 1);
        return intern({any, tests.on_word(word, kind, Form::name),
                       tests.on_word(tests.find_word(local, index_->secret), kind, Form::local),
                       tests.on_word(tests.find_word(space, index_->secret), kind, Form::space)});
    }

    const Index* index_ = nullptr;
    std::vector<Label> labels_;
    std::map<TestSet, uint32_t> labels_by_tests_;
    std::vector<uint32_t> known_labels_[2];  // by word, for elements and for attributes
    uint32_t tests_known_ = 0;
    uint64_t renewals_ = 0;
};

}  // namespace twigcast::match
