// Paths: steps along axes, predicates, and sets of nodes.
//
// A path is followed step by step with all nodes at once.  A predicate that depends on the node
// alone is asked of each node of the whole set; one that counts positions, of the nodes on the axis
// from each node in turn.  `descendant-or-self::node()/child::a` is one step, to the descendants.
#pragma once

#include "program/interpreter_atoms.hpp"

namespace twigcast::program {

inline NodeSet Interpreter::lend() {
    if (spare_.empty()) return {};
    NodeSet nodes = std::move(spare_.back());
    spare_.pop_back();
    nodes.clear();
    return nodes;
}
inline void Interpreter::give_back(NodeSet&& nodes) {
    if (spare_.size() < 16 && nodes.capacity() > 0) spare_.push_back(std::move(nodes));
}

inline uint32_t Interpreter::node_of(const Focus& focus) const {
    if (!focus.item.is_node()) fail("a step from a value that is no node");
    return focus.item.node;
}

// Whether a predicate may be a position, or asks for one.
inline bool Interpreter::is_positional(uint32_t predicate) const {
    const Expression& one = expressions_[predicate];
    return one.uses_position || one.result == Result::number || one.result == Result::any;
}
inline bool Interpreter::has_positions(Part one, uint32_t first) const {
    for (uint32_t at = first; at < count(one); ++at) {
        if (is_positional(child(one, at))) return true;
    }
    return false;
}

inline bool Interpreter::accepts(Part along, uint32_t node) const {
    return axes_.accepts(program_.tests[along.test], tests_[along.test], node);
}

// The nodes on the axis that pass the test, in the order of the axis, until `body` has seen enough.
template <class Body>
bool Interpreter::walk(Part along, uint32_t node, Body body) {
    const LabelTest& test = tests_[along.test];
    const Axis axis = Expressions::axis_of(along);
    if (test.is_impossible()) return false;
    if (axis == Axis::child && test.mask == NONE) {
        return axes_.walk_children(node, test.wanted, body);
    }
    return axes_.walk(axis, node, [&](uint32_t one) { return accepts(along, one) && body(one); });
}

// Whether all predicates hold, none of which is positional.
inline bool Interpreter::passes(Part one, uint32_t first, const Item& item) {
    for (uint32_t at = first; at < count(one); ++at) {
        const Work::Mark mark = work_.mark();
        const bool holds = is_true(child(one, at), {item});
        work_.release(mark);
        if (!holds) return false;
    }
    return true;
}

inline bool Interpreter::passes_at(uint32_t predicate, const Item& item, size_t position,
                                   size_t size) {
    const Expression& one = expressions_[predicate];
    const Focus focus{item, position, size};
    const Work::Mark mark = work_.mark();
    bool holds = false;
    if (one.result != Result::number && one.result != Result::any) {
        holds = is_true(predicate, focus);
    } else {
        const Operand value = operand(predicate, focus);
        if (value->size() == 1 && (*value)[0].is_numeric()) {
            double wanted = 0;
            to_double((*value)[0], wanted);
            holds = wanted == static_cast<double>(position);
        } else {
            holds = is_true(*value);
        }
    }
    work_.release(mark);
    return holds;
}

// The nodes that a step with positional predicates leads to from one node, added in document order.
inline void Interpreter::step_by_positions(Part along, uint32_t node, NodeSet& reached) {
    const Axis axis = Expressions::axis_of(along);
    const Expression& first = expressions_[child(along, 0)];
    const bool is_index = first.form == Form::integer || first.form == Form::number;
    const double index = is_index ? first.number : 0;
    NodeSet nodes = lend();
    size_t position = 0;
    walk(along, node, [&](uint32_t one) {
        ++position;
        if (!is_index || static_cast<double>(position) == index) nodes.push_back(one);
        return is_index && static_cast<double>(position) >= index;
    });
    for (uint32_t at = is_index ? 1 : 0; at < count(along) && !nodes.empty(); ++at) {
        const size_t size = nodes.size();
        position = 0;
        Axes::keep_where(nodes, [&](uint32_t one) {
            return passes_at(child(along, at), Item::of_node(one), ++position, size);
        });
    }
    const bool is_reverse = axis == Axis::ancestor || axis == Axis::ancestor_or_self ||
                            axis == Axis::preceding || axis == Axis::preceding_sibling;
    if (is_reverse) std::reverse(nodes.begin(), nodes.end());
    reached.insert(reached.end(), nodes.begin(), nodes.end());
    give_back(std::move(nodes));
}

// All nodes that a step leads to from any of `from`, which is used up.
inline void Interpreter::step(Part along, NodeSet& from, NodeSet& reached) {
    reached.clear();
    if (tests_[along.test].is_impossible()) return;
    if (has_positions(along, 0)) {
        for (const uint32_t node : from) step_by_positions(along, node, reached);
        if (from.size() > 1) axes_.sort(reached);
        return;
    }
    const Axis axis = Expressions::axis_of(along);
    if (axis == Axis::child) {
        for (const uint32_t node : from) {
            walk(along, node, [&](uint32_t one) {
                reached.push_back(one);
                return false;
            });
        }
        if (from.size() > 1) axes_.sort(reached);
    } else {
        axes_.reach(axis, from, reached, [&](uint32_t node) { return accepts(along, node); });
    }
    if (count(along) > 0) {
        Axes::keep_where(reached,
                         [&](uint32_t node) { return passes(along, 0, Item::of_node(node)); });
    }
}

// The same from one node, until somebody has seen enough; in the order of the axis.
inline bool Interpreter::visit_along(Part along, uint32_t node, Visit visit) {
    if (has_positions(along, 0)) {
        NodeSet reached = lend();
        step_by_positions(along, node, reached);
        const bool stopped = std::any_of(reached.begin(), reached.end(), visit);
        give_back(std::move(reached));
        return stopped;
    }
    return walk(along, node,
                [&](uint32_t one) { return passes(along, 0, Item::of_node(one)) && visit(one); });
}

// Whether the step at `at` and the next are together one step to the descendants.
inline bool Interpreter::steps_below(Part path, uint32_t at) const {
    if (at + 1 >= count(path)) return false;
    const Expression& one = expressions_[child(path, at)];
    const Expression& next = expressions_[child(path, at + 1)];
    return one.form == Form::along && Expressions::axis_of(one) == Axis::descendant_or_self &&
           count(one) == 0 && program_.tests[one.test].kind == Kind::any &&
           next.form == Form::along && Expressions::axis_of(next) == Axis::child &&
           !has_positions(next, 0);
}

// Follow the first steps of a path as far as they are along axes; how many were followed.
inline uint32_t Interpreter::follow(Part path, const Focus& focus, uint32_t steps, NodeSet& nodes) {
    const uint32_t first = child(path, 0);
    const Expression& start = expressions_[first];
    nodes.clear();
    if (start.form == Form::root) {
        nodes.push_back(0);
    } else if (start.form == Form::context) {
        nodes.push_back(node_of(focus));
    } else {
        const Operand value = operand(first, focus);
        if (!value->is_node_set()) {
            for (size_t at = 0; at < value->size(); ++at) {
                if (!(*value)[at].is_node()) fail("a step from a value that is no node");
                nodes.push_back((*value)[at].node);
            }
            axes_.sort(nodes);
        } else if (value->holds_set()) {
            nodes.assign(value->nodes().begin(), value->nodes().end());
        } else if (!value->empty()) {
            nodes.push_back((*value)[0].node);
        }
    }
    uint32_t at = 1;
    NodeSet reached = lend();
    while (at < steps && !nodes.empty()) {
        const Expression& one = expressions_[child(path, at)];
        if (one.form != Form::along) break;
        if (at + 1 < steps && steps_below(path, at)) {
            const Expression& next = expressions_[child(path, ++at)];
            axes_.reach(Axis::descendant, nodes, reached,
                        [&](uint32_t node) { return accepts(next, node); });
            if (count(next) > 0) {
                Axes::keep_where(
                    reached, [&](uint32_t node) { return passes(next, 0, Item::of_node(node)); });
            }
        } else {
            step(one, nodes, reached);
        }
        nodes.swap(reached);
        ++at;
    }
    give_back(std::move(reached));
    return nodes.empty() ? steps : at;
}

inline Sequence Interpreter::path(Part one, const Focus& focus) {
    NodeSet nodes = lend();
    uint32_t at = follow(one, focus, count(one), nodes);
    Sequence all(std::move(nodes));
    for (; at < count(one); ++at) {
        NodeSet from;
        if (all.is_node_set()) {
            from = all.take_nodes();
        } else {
            fail("a step from a value that is no node");
        }
        const Expression& next = expressions_[child(one, at)];
        if (next.form == Form::along) {
            NodeSet reached = lend();
            step(next, from, reached);
            all = Sequence(std::move(reached));
        } else {
            all = step_by_items(child(one, at), from);
        }
        give_back(std::move(from));
    }
    return all;
}

// A step that is any expression: nodes only, or values only.
inline Sequence Interpreter::step_by_items(uint32_t step, const NodeSet& from) {
    Sequence all;
    size_t position = 0, nodes = 0;
    for (const uint32_t node : from) {
        all.add(evaluate(step, {Item::of_node(node), ++position, from.size()}));
        Work::bound_items(all.size());
    }
    for (size_t at = 0; at < all.size(); ++at) nodes += all[at].is_node();
    if (nodes == 0) return all;
    if (nodes != all.size()) fail("a path to both nodes and values");
    NodeSet reached = lend();
    for (size_t at = 0; at < all.size(); ++at) reached.push_back(all[at].node);
    axes_.sort(reached);
    return Sequence(std::move(reached));
}

inline Sequence Interpreter::mapped(Part one, const Focus& focus) {
    const Operand source = operand(child(one, 0), focus);
    Sequence all;
    for (size_t at = 0; at < source->size(); ++at) {
        all.add(evaluate(child(one, 1), {(*source)[at], at + 1, source->size()}));
        Work::bound_items(all.size());
    }
    return all;
}

inline Sequence Interpreter::filtered(Part one, const Focus& focus) {
    Sequence items = evaluate(child(one, 0), focus);
    for (uint32_t predicate = 1; predicate < count(one) && !items.empty(); ++predicate) {
        const uint32_t asked = child(one, predicate);
        const size_t size = items.size();
        size_t position = 0;
        if (items.is_node_set()) {
            NodeSet nodes = items.take_nodes();
            Axes::keep_where(nodes, [&](uint32_t node) {
                return passes_at(asked, Item::of_node(node), ++position, size);
            });
            items = Sequence(std::move(nodes));
            continue;
        }
        Sequence kept;
        for (size_t at = 0; at < size; ++at) {
            if (passes_at(asked, items[at], ++position, size)) kept.add(items[at]);
        }
        items = std::move(kept);
    }
    return items;
}

inline NodeSet Interpreter::nodes_at(uint32_t number, const Focus& focus) {
    Sequence value = evaluate(number, focus);
    if (value.is_node_set()) return value.take_nodes();
    NodeSet nodes = lend();
    for (size_t at = 0; at < value.size(); ++at) {
        if (!value[at].is_node()) fail("a value that is no node");
        nodes.push_back(value[at].node);
    }
    axes_.sort(nodes);
    return nodes;
}

inline Sequence Interpreter::combined(Part one, const Focus& focus) {
    NodeSet all = nodes_at(child(one, 0), focus);
    for (uint32_t at = 1; at < count(one); ++at) {
        NodeSet other = nodes_at(child(one, at), focus);
        const auto before = [this](uint32_t left, uint32_t right) {
            return axes_.is_before(left, right);
        };
        const auto both = std::make_pair(all.begin(), all.end());
        NodeSet result = lend();
        if (operator_of(one) == Operator::unite) {
            std::set_union(both.first, both.second, other.begin(), other.end(),
                           std::back_inserter(result), before);
        } else if (operator_of(one) == Operator::intersect) {
            std::set_intersection(both.first, both.second, other.begin(), other.end(),
                                  std::back_inserter(result), before);
        } else {
            std::set_difference(both.first, both.second, other.begin(), other.end(),
                                std::back_inserter(result), before);
        }
        work_.spend(all.size() + other.size());
        all.swap(result);
        give_back(std::move(result));
        give_back(std::move(other));
    }
    return Sequence(std::move(all));
}

// Every node of the expression at least once, in no order, until somebody has seen enough.
inline bool Interpreter::visit_nodes(uint32_t number, const Focus& focus, Visit visit) {
    const Expression& one = expressions_[number];
    if (one.form == Form::along) return visit_along(one, node_of(focus), visit);
    if (one.form == Form::operation && operator_of(one) == Operator::unite) {
        for (uint32_t at = 0; at < count(one); ++at) {
            if (visit_nodes(child(one, at), focus, visit)) return true;
        }
        return false;
    }
    if (one.form == Form::path && !one.is_constant) {
        const uint32_t last = count(one) - 1;
        const Expression& ending = expressions_[child(one, last)];
        const bool below = last > 1 && steps_below(one, last - 1);
        NodeSet from = lend();
        const uint32_t steps = below ? last - 1 : last;
        const Axis leads = Expressions::axis_of(ending);
        const bool climbs = leads == Axis::ancestor || leads == Axis::ancestor_or_self;
        if (ending.form == Form::along && !climbs && follow(one, focus, steps, from) == steps) {
            const Axis axis = below ? Axis::descendant : Expressions::axis_of(ending);
            if (below || !has_positions(ending, 0)) axes_.thin_out(axis, from);
            bool stopped = false;
            for (size_t at = 0; at < from.size() && !stopped; ++at) {
                if (!below) {
                    stopped = visit_along(ending, from[at], visit);
                    continue;
                }
                stopped = axes_.walk(axis, from[at], [&](uint32_t node) {
                    return accepts(ending, node) && passes(ending, 0, Item::of_node(node)) &&
                           visit(node);
                });
            }
            give_back(std::move(from));
            return stopped;
        }
    }
    const Operand value = operand(number, focus);
    for (size_t at = 0; at < value->size(); ++at) {
        if (!(*value)[at].is_node()) fail("a value that is no node");
        if (visit((*value)[at].node)) return true;
    }
    return false;
}

// The first node in document order, or NONE.
inline uint32_t Interpreter::first_node(uint32_t number, const Focus& focus) {
    const Expression& one = expressions_[number];
    const bool is_forward = one.form == Form::along && Expressions::axis_of(one) <= Axis::parent;
    uint32_t first = NONE;
    const bool stops = is_forward || (one.form == Form::along && one.code >= AXIS_COUNT - 2);
    auto visit = [&](uint32_t node) {
        if (first == NONE || axes_.is_before(node, first)) first = node;
        return stops;
    };
    visit_nodes(number, focus, visit);
    return first;
}

}  // namespace twigcast::program
