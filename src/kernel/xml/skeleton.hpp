// The set of label paths of a document, written as a document: its skeleton.
//
//     <a><b x="1">p</b><b><c/></b></a> ──► /a, /a/b, /a/b/@x, /a/b/c ──► <a><b x=""><c/></b></a>
//
// Mapping every node to the one node of the skeleton that has its path keeps names, kinds and edges
// (a homomorphism), so whatever asks only for nodes that must be there and holds in the document
// holds in the skeleton too.
//
// Invariant: documents have the same skeleton exactly if they have the same paths.  To that end it
// is canonical: attributes before children, each sorted by namespace and local name; namespaces
// sorted and declared at the root with the prefixes n0, n1, … (but `xml`, which is declared
// nowhere); no white space.
//
// Paths are numbered over all documents of a batch: (path of the parent, label) ──► path.  So an
// element costs two look-ups, and a document whose set of paths was met before is recognised by the
// sorted numbers; a skeleton is written once.
//
// A skeleton that would take more than a given number of bytes is not written: only the root is
// reported for such a document.  Nor does it make the tables grow once that is clear.
#pragma once

#include <unordered_map>
#include <utility>

#include "base/number_table.hpp"
#include "xml/document.hpp"
#include "xml/reader.hpp"

namespace twigcast::xml {

using namespace base;

struct Skeleton {
    std::string text;          // empty: too large
    std::string space, local;  // of the root
};

struct SkeletonBatch {
    std::vector<int64_t> numbers;  // of each document's skeleton; -1 for a bad document
    std::vector<Skeleton> skeletons;
    std::vector<std::pair<size_t, Failure>> failures;
};

class SkeletonBuilder {
public:
    SkeletonBuilder(const ExpatTable* expat, const Limits& limits, size_t largest)
        : memory_(expat), limits_(limits), largest_(largest) {
        forget();
    }

    // Add the skeletons of some documents to the batch.
    void read(const std::vector<Input>& inputs, size_t begin, size_t end, SkeletonBatch& batch) {
        for (size_t at = begin; at < end; ++at) {
            if (inputs[at].data == nullptr) {  // refused before
                batch.numbers.push_back(-1);
                continue;
            }
            const Failure failure =
                Reader<SkeletonBuilder>(limits_, *this, memory_).read(inputs[at]);
            if (failure.trouble != Trouble::none) {
                batch.failures.emplace_back(at, failure);
                batch.numbers.push_back(-1);
            } else {
                batch.numbers.push_back(recognise(batch));
            }
            if (byte_size() > MOST_BYTES) forget();
        }
    }

    // --- a sink of the Reader -------------------------------------------------------------------

    bool wants_text() const { return false; }
    uint32_t number_of(Kind, std::string_view name) {
        return is_too_large() ? 0 : names_.intern(name);
    }
    uint64_t numbering() const { return renewals_; }

    Trouble open_document(size_t) {
        if (is_too_large()) ++renewals_;  // of names without a number
        ++document_;
        met_.clear();
        open_.assign(1, 0);
        size_ = 0;
        return Trouble::none;
    }

    Trouble open_element(uint32_t name, const Attributes& attributes, uint32_t) {
        if (is_too_large()) return Trouble::none;
        const uint32_t path = visit(Kind::element, name);
        open_.push_back(path);
        for (const Attribute& attribute : attributes) {
            if (is_too_large()) break;
            visit(Kind::attribute, attribute.name);
        }
        return Trouble::none;
    }

    Trouble close_element() {
        if (!is_too_large()) open_.pop_back();
        return Trouble::none;
    }

    Trouble add_text(std::string_view) { return Trouble::none; }
    Trouble add_comment(std::string_view) { return Trouble::none; }
    Trouble add_instruction(std::string_view, std::string_view) { return Trouble::none; }

private:
    struct Path {
        uint32_t label;
        uint32_t parent;
        uint64_t document;  // the last one that it was met in
    };
    struct Known {
        std::vector<uint32_t> paths;
        int64_t number;
    };

    static constexpr size_t MOST_BYTES = size_t{32} << 20;

    bool is_too_large() const { return size_ > largest_; }

    size_t byte_size() const {
        return names_.byte_size() + table_.byte_size() + paths_.capacity() * sizeof(Path) +
               known_bytes_;
    }

    void forget() {
        names_ = Names();
        ++renewals_;
        table_.clear();
        paths_.assign(1, {make_label(Kind::document, 0), NONE, 0});
        known_.clear();
        known_bytes_ = 0;
    }

    // The path of a node below the element that is open.
    uint32_t visit(Kind kind, uint32_t name) {
        const uint32_t parent = open_.back();
        const uint32_t label = make_label(kind, name);
        uint32_t path = table_.find(pair_of(parent, label));
        if (path == NONE) {
            path = count_of(paths_);
            paths_.push_back({label, parent, 0});
            table_.add(pair_of(parent, label), path);
        }
        if (paths_[path].document != document_) {
            paths_[path].document = document_;
            met_.push_back(path);
            size_ += names_.local_of(name_of(label)).size() + size_t{3};
        }
        return path;
    }

    // The number of the skeleton of the document that was read.
    int64_t recognise(SkeletonBatch& batch) {
        const uint32_t root = met_.front();
        if (is_too_large()) met_.assign({root, NONE});  // all of that root are one
        std::sort(met_.begin(), met_.end());
        const std::string_view bytes{reinterpret_cast<const char*>(met_.data()),
                                     met_.size() * sizeof(uint32_t)};
        const uint64_t hash = hash_of(bytes, hash_secret);
        const auto [begin, end] = known_.equal_range(hash);
        for (auto at = begin; at != end; ++at) {
            if (at->second.paths == met_) return at->second.number;
        }
        const int64_t number = static_cast<int64_t>(batch.skeletons.size());
        const uint32_t name = name_of(paths_[root].label);
        batch.skeletons.push_back({met_.back() == NONE ? std::string{} : write(),
                                   std::string(names_.namespace_of(name)),
                                   std::string(names_.local_of(name))});
        known_.emplace(hash, Known{met_, number});
        known_bytes_ += bytes.size() + sizeof(Known) + 4 * sizeof(void*);
        return number;
    }

    // --- writing --------------------------------------------------------------------------------

    std::string_view space_of(uint32_t path) const {
        return names_.namespace_of(name_of(paths_[path].label));
    }
    bool is_attribute(uint32_t path) const {
        return kind_of(paths_[path].label) == Kind::attribute;
    }

    // The skeleton of the paths in `met_`; nothing if it is too large.
    std::string write() {
        std::vector<std::string_view> spaces;
        for (const uint32_t path : met_) spaces.push_back(space_of(path));
        std::sort(spaces.begin(), spaces.end());
        spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
        const auto is_undeclared = [](std::string_view space) {
            return space.empty() || space == XML_NAMESPACE;
        };
        spaces.erase(std::remove_if(spaces.begin(), spaces.end(), is_undeclared), spaces.end());
        size_t declared = 0;
        for (const std::string_view space : spaces) declared += space.size();
        if (declared > largest_) return {};

        // Siblings stand together, in the order in which they are written.
        std::vector<uint32_t> order = met_;
        std::sort(order.begin(), order.end(), [this](uint32_t one, uint32_t two) {
            if (paths_[one].parent != paths_[two].parent)
                return paths_[one].parent < paths_[two].parent;
            if (is_attribute(one) != is_attribute(two)) return is_attribute(one);
            const int compared = space_of(one).compare(space_of(two));
            if (compared != 0) return compared < 0;
            return names_.local_of(name_of(paths_[one].label)) <
                   names_.local_of(name_of(paths_[two].label));
        });
        const auto children_of = [&](uint32_t parent) {
            const auto begin = std::partition_point(order.begin(), order.end(), [&](uint32_t path) {
                return paths_[path].parent < parent;
            });
            auto end = begin;
            while (end != order.end() && paths_[*end].parent == parent) ++end;
            return std::make_pair(begin, end);
        };

        struct Level {
            uint32_t path;
            std::vector<uint32_t>::const_iterator at, end;  // children yet to be written
        };
        std::string text;
        std::vector<Level> levels;
        const auto open = [&](uint32_t path) {
            auto [at, end] = children_of(path);
            text += '<';
            write_name(text, path, spaces);
            if (levels.empty()) write_declarations(text, spaces);
            for (; at != end && is_attribute(*at); ++at) {
                text += ' ';
                write_name(text, *at, spaces);
                text += "=\"\"";
            }
            text += at == end ? "/>" : ">";
            if (at != end) levels.push_back({path, at, end});
        };
        open(order.front());
        while (!levels.empty() && text.size() <= largest_) {
            Level& level = levels.back();
            if (level.at != level.end) {
                open(*level.at++);
                continue;
            }
            text += "</";
            write_name(text, level.path, spaces);
            text += '>';
            levels.pop_back();
        }
        return text.size() <= largest_ ? text : std::string{};
    }

    void write_name(std::string& text, uint32_t path,
                    const std::vector<std::string_view>& spaces) const {
        const std::string_view space = space_of(path);
        if (space == XML_NAMESPACE) {
            text += "xml:";
        } else if (!space.empty()) {
            const auto at = std::lower_bound(spaces.begin(), spaces.end(), space);
            text += 'n' + std::to_string(at - spaces.begin()) + ':';
        }
        text += names_.local_of(name_of(paths_[path].label));
    }

    static void write_declarations(std::string& text, const std::vector<std::string_view>& spaces) {
        for (size_t number = 0; number < spaces.size(); ++number) {
            text += " xmlns:n" + std::to_string(number) + "=\"";
            for (const char byte : spaces[number]) {
                switch (byte) {
                    case '&': text += "&amp;"; break;
                    case '<': text += "&lt;"; break;
                    case '"': text += "&quot;"; break;
                    case '\t': text += "&#9;"; break;
                    case '\n': text += "&#10;"; break;
                    case '\r': text += "&#13;"; break;
                    default: text += byte;
                }
            }
            text += '"';
        }
    }

    ReaderMemory memory_;
    const Limits limits_;
    const size_t largest_;
    Names names_;
    uint64_t renewals_ = 0;  // of their numbers
    NumberTable table_;
    std::vector<Path> paths_;  // 0 is the document node
    std::unordered_multimap<uint64_t, Known> known_;
    size_t known_bytes_ = 0;
    // Of the document that is being read:
    uint64_t document_ = 0;
    std::vector<uint32_t> open_;
    std::vector<uint32_t> met_;  // paths, in the order in which they came, the root first
    size_t size_ = 0;            // bytes that the skeleton takes at least
};

}  // namespace twigcast::xml
