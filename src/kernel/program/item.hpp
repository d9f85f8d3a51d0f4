// The values of expressions: items, and sequences of them.
//
// An item is a node or an atomic value, 32 bytes without a destructor: texts lie in the document,
// in the program or in the texts of the evaluation (`work.hpp`).  A sequence is empty, one item, a
// set of nodes (in document order, each once), or items in any order; only the last two allocate.
#pragma once

#include <utility>

#include "program/node_set.hpp"

namespace twigcast::program {

using namespace base;

using Wide = __int128;

enum class Type : uint8_t {
    node,
    untyped,
    text,
    uri,
    boolean,
    integer,
    decimal,
    real_32,
    real,
    date,
    date_time,
    time,
    duration,
    day_time,
    year_month,
};

constexpr int16_t NO_ZONE = 0x7FFF;

struct Item {
    Type type = Type::untyped;
    uint8_t subtype = 0;      // the constructor of a derived type, such as xs:int; 0 for none
    bool is_literal = false;  // integer, decimal: by the rules of XPath 1.0 spelled as a double
    uint8_t scale = 0;        // decimal: how many of its digits stand behind the point
    int16_t zone = NO_ZONE;   // date, date_time, time: minutes east of Greenwich
    int32_t months = 0;       // duration, year_month
    union {
        uint32_t node;
        bool boolean;
        double number;  // real, real_32
        struct {
            const char* data;
            size_t size;
        } text;  // untyped, text, uri
        // integer and decimal: the digits.  duration, day_time: nanoseconds.  date, date_time:
        // nanoseconds since 1970, time: since midnight, all by the clock of their own zone.
        Wide wide;
    };

    Item() : wide(0) {}

    bool is_node() const { return type == Type::node; }
    bool is_text() const {
        return type == Type::untyped || type == Type::text || type == Type::uri;
    }
    bool is_numeric() const { return type >= Type::integer && type <= Type::real; }
    bool is_exact() const { return type == Type::integer || type == Type::decimal; }
    bool is_duration() const { return type >= Type::duration; }
    std::string_view view() const { return {text.data, text.size}; }

    static Item of_node(uint32_t node) {
        Item item;
        item.type = Type::node;
        item.node = node;
        return item;
    }
    static Item of_text(std::string_view text, Type type = Type::text) {
        Item item;
        item.type = type;
        item.text = {text.data() != nullptr ? text.data() : "", text.size()};
        return item;
    }
    static Item of(bool boolean) {
        Item item;
        item.type = Type::boolean;
        item.boolean = boolean;
        return item;
    }
    static Item of(double number) {
        Item item;
        item.type = Type::real;
        item.number = number;
        return item;
    }
    static Item of_integer(Wide value) {
        Item item;
        item.type = Type::integer;
        item.wide = value;
        return item;
    }
    static Item of_wide(Type type, Wide value) {
        Item item;
        item.type = type;
        item.wide = value;
        return item;
    }
};

class Sequence {
public:
    Sequence() = default;
    Sequence(const Item& item) : shape_(Shape::one), one_(item) {}
    explicit Sequence(NodeSet&& nodes) : shape_(Shape::nodes), nodes_(std::move(nodes)) {}
    explicit Sequence(std::vector<Item>&& items) : shape_(Shape::items), items_(std::move(items)) {}

    size_t size() const {
        switch (shape_) {
            case Shape::empty: return 0;
            case Shape::one: return 1;
            case Shape::nodes: return nodes_.size();
            case Shape::items: return items_.size();
        }
        return 0;
    }
    bool empty() const { return size() == 0; }

    Item operator[](size_t at) const {
        if (shape_ == Shape::one) return one_;
        return shape_ == Shape::nodes ? Item::of_node(nodes_[at]) : items_[at];
    }

    // Whether it is known to be nodes in document order, each once.
    bool is_node_set() const {
        return shape_ == Shape::empty || shape_ == Shape::nodes ||
               (shape_ == Shape::one && one_.is_node());
    }
    const NodeSet& nodes() const { return nodes_; }  // of a sequence that holds several
    bool holds_set() const { return shape_ == Shape::nodes; }
    NodeSet take_nodes() {
        if (shape_ == Shape::one) return {one_.node};
        return shape_ == Shape::empty ? NodeSet() : std::move(nodes_);
    }

    void add(const Item& item) {
        if (shape_ == Shape::empty) {
            shape_ = Shape::one;
            one_ = item;
            return;
        }
        if (shape_ != Shape::items) {
            std::vector<Item> items;
            items.reserve(size() + 1);
            for (size_t at = 0; at < size(); ++at) items.push_back((*this)[at]);
            items_ = std::move(items);
            nodes_.clear();
            shape_ = Shape::items;
        }
        items_.push_back(item);
    }
    void add(Sequence&& other) {
        if (empty()) {
            *this = std::move(other);
            return;
        }
        for (size_t at = 0; at < other.size(); ++at) add(other[at]);
    }

private:
    enum class Shape : uint8_t { empty, one, nodes, items };

    Shape shape_ = Shape::empty;
    Item one_;
    NodeSet nodes_;
    std::vector<Item> items_;
};

}  // namespace twigcast::program
