// The label paths that a thread has met in documents, and for each what the subscriptions make of
// it: the lazy determinisation of the trie.
//
//     /nitf/body/p  ──►  patterns accepted here, probes that hold here, groups whose predicates
//                        want the text, branching points, and where the trie goes on from here
//
// Documents of a feed share few paths, so nearly every element is one look-up of (path of its
// parent, label).  A path is built when first met, from two parts:
//
// * steps by `/`, from the trie nodes where the parent's path stands (`active`);
// * steps by `//`, from the trie nodes that some path above, or the parent itself, has reached and
//   that `//` leads away from.  Each path lists only those that none above it lists (`below`), and
//   remembers where they lead by each label, so that no set is ever copied downwards.
//
// A path leaves out the patterns that a path above it accepts, and what is triggered by a probe
// that holds on a path above it: whoever meets the path has met that one.
//
// Labels are names as far as the subscriptions distinguish them.  Nothing here is shared between
// threads, and any of it may be forgotten between documents: where there is too much, the half that
// was not met for the longest time.  `built` is the version of the index that a
// path was built for; it is built again when a test that its label passes has changed since.
#pragma once

#include <array>

#include "base/number_table.hpp"
#include "match/effects.hpp"
#include "match/labels.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

// A part of what the cache has for all paths.
template <class T>
struct SpanOf {
    const T* first;
    const T* last;
    const T* begin() const { return first; }
    const T* end() const { return last; }
    bool empty() const { return first == last; }
};
using Span = SpanOf<uint32_t>;

// What a document looks at when it meets a path; small, since there are many paths.
struct CachedPath {
    uint32_t stamp = 0;      // the document that met it last
    uint32_t lists[5] = {};  // where accepted, probes, watches and triggers begin, and the end
    uint32_t values = NONE;  // in the cache's values
    uint16_t edges = 0;      // what leads away from here; CARRIES if by `//`, and new here
    bool repeated = false;   // in that document
    uint32_t children = 0;   // a hash table in the cache's slots
    uint32_t child_mask = 0, child_count = 0;
    uint32_t last_element = NONE;  // of that document on this path

    bool is_empty() const { return lists[0] == lists[4] && values == NONE; }
};

// A trie node that edges lead away from, and a copy of what it says of their tests: most have none
// of the label that comes, and nobody looks at the node itself.
#pragma pack(push, 2)
struct Crossing {
    uint32_t node;
    uint16_t tested;
};
#pragma pack(pop)

// Where a path comes from and where it leads: needed when paths are built.
struct PathOrigin {
    uint32_t parent, label, depth;
    uint32_t active = 0, below = 0, end = 0;  // crossings from which `/` and `//` lead on
    uint64_t built = 0;
};

class PathCache {
public:
    static constexpr uint32_t ROOT = 0;
    static constexpr uint16_t CARRIES = 512;

    enum List { ACCEPTED, PROBES, WATCHES, TRIGGERS };

    Labels labels;
    Effects effects{lists_};

    // Be ready for the index as it is now; called before each document.
    void follow(const Index& index) {
        index_ = &index;
        if (index.generation == generation_ && version_ == index.version()) return;
        version_ = index.version();
        marked_ = NONE;
        chain_patterns_.resize(index.pattern_count(), 0);
        chain_nodes_.resize(index.trie.count(), 0);
        chain_probes_.resize(index.probe_count(), 0);
        if (index.generation != generation_) {
            generation_ = index.generation;
            return forget();
        }
        changed_ = true;
        labels.follow(index);
        refresh(ROOT);
    }

    // Forget all paths and labels.
    void forget() {
        labels.forget(*index_);
        clear();
    }

    // Forget all paths; labels stay, so this may happen within a document.
    void clear() {
        drop_paths();
        effects.triggers.clear();
        changed_ = false;
        paths_.emplace_back();
        origins_.push_back({NONE, NONE, 0});
        build(ROOT);
        empty_size_ = 0;
        empty_size_ = byte_size();
    }

    // Forget the half of the paths that no document has met for the longest time.  A path was met
    // whenever one below it was, so those that stay hang together.  Between documents only.
    void forget_oldest() {
        std::vector<uint32_t> stamps;
        for (const CachedPath& path : paths_) stamps.push_back(path.stamp);
        std::nth_element(stamps.begin(), stamps.begin() + count() / 2, stamps.end());
        const uint32_t oldest = stamps[count() / 2];
        Lists groups, begins;
        for (const CachedPath& path : paths_) {
            begins.push_back(count_of(groups));
            if (path.values != NONE) effects.list_groups(effects.values(path.values), groups);
        }
        begins.push_back(count_of(groups));
        const std::vector<CachedPath> paths = std::move(paths_);
        const std::vector<PathOrigin> origins = std::move(origins_);
        const Lists lists = std::move(lists_);
        const std::vector<Crossing> crossings = std::move(crossings_);
        drop_paths();
        marked_ = NONE;
        std::vector<uint32_t> numbers(paths.size(), NONE);
        for (uint32_t at = 0; at < count_of(paths); ++at) {
            if (at != ROOT && paths[at].stamp <= oldest) continue;
            numbers[at] = count_of(paths_);
            groups_.assign(groups.begin() + begins[at], groups.begin() + begins[at + size_t{1}]);
            paths_.push_back(paths[at]);
            CachedPath& path = paths_.back();
            if (path.values != NONE) path.values = effects.copy(*index_, groups_);
            move_span(lists, lists_, path.lists, 5);
            path.children = path.child_mask = path.child_count = 0;
            PathOrigin origin = origins[at];
            uint32_t span[] = {origin.active, origin.below, origin.end};
            move_span(crossings, crossings_, span, 3);
            origin.active = span[0];
            origin.below = span[1];
            origin.end = span[2];
            if (at != ROOT) origin.parent = numbers[origin.parent];
            origins_.push_back(origin);
            if (at != ROOT) add_child(origin.parent, origin.label, numbers[at]);
        }
    }

    CachedPath& operator[](uint32_t path) { return paths_[path]; }
    const PathOrigin& origin(uint32_t path) const { return origins_[path]; }
    Span list(const CachedPath& path, List which) const {
        return {lists_.data() + path.lists[which], lists_.data() + path.lists[which + 1]};
    }

    Span list(uint32_t begin, uint32_t count) const {
        return {lists_.data() + begin, lists_.data() + begin + count};
    }
    const CachedTrigger* trigger(uint32_t begin) const {
        return reinterpret_cast<const CachedTrigger*>(lists_.data() + begin);
    }

    // Paths are built below the innermost of those that are open.  Of these, the ones that `//`
    // leads away from are kept apart: however deep a document is, they are few.
    void open(uint32_t path) {
        if ((paths_[path].edges & CARRIES) != 0) carriers_.push_back(path);
    }
    void close(uint32_t path) {
        if (!carriers_.empty() && carriers_.back() == path) carriers_.pop_back();
    }
    void close_all() { carriers_.clear(); }

    // The path below another by a label, if it has been met.
    uint32_t find(uint32_t parent, uint32_t label) const {
        const CachedPath& path = paths_[parent];
        if (path.child_mask == 0) return NONE;
        for (uint32_t at = label;; ++at) {
            const ChildSlot& slot = slots_[path.children + (at & path.child_mask)];
            if (slot.label == label || slot.path == NONE) return slot.path;
        }
    }

    uint32_t add(uint32_t parent, uint32_t label) {
        const uint32_t path = count_of(paths_);
        paths_.emplace_back();
        origins_.push_back({parent, label, origins_[parent].depth + 1});
        add_child(parent, label, path);
        build(path);
        return path;
    }

    bool is_of(const Index& index) const { return generation_ == index.generation; }

    // Build the path again if the index has changed where it matters.
    void refresh(uint32_t path) {
        if (!changed_) return;
        const PathOrigin& origin = origins_[path];
        const uint64_t changed =
            path == ROOT ? index_->root_version() : labels[origin.label].version;
        if (origin.built < changed) build(path);
    }

    size_t count() const { return paths_.size(); }
    // Of what was learned from documents.
    size_t byte_size() const {
        return paths_.size() * (sizeof(CachedPath) + sizeof(PathOrigin)) +
               (lists_.size() + nodes_.size()) * sizeof(uint32_t) +
               crossings_.size() * sizeof(Crossing) + below_steps_.size() * sizeof(BelowStep) +
               slots_.size() * sizeof(ChildSlot) + below_table_.byte_size() + labels.byte_size() +
               effects.byte_size() - empty_size_;
    }

private:
    static constexpr size_t AHEAD = 16;

    struct ChildSlot {
        uint32_t label = NONE;
        uint32_t path = NONE;
    };

    struct BelowStep {
        uint32_t begin, end;  // in nodes_
        uint64_t built;
    };

    // All but the triggers, which no path has for itself.
    void drop_paths() {
        paths_ = {};
        origins_ = {};
        slots_ = {};
        below_steps_ = {};
        below_table_.clear();
        lists_ = {};
        crossings_ = {};
        nodes_ = {};
        effects.clear();
    }

    // Copy what lies between the first and the last of some offsets, and move them to the copy.
    template <class T>
    static void move_span(const std::vector<T>& from, std::vector<T>& to, uint32_t* offsets,
                          size_t count) {
        const uint32_t begin = offsets[0], moved = count_of(to);
        to.insert(to.end(), from.begin() + begin, from.begin() + offsets[count - 1]);
        for (size_t at = 0; at < count; ++at) offsets[at] += moved - begin;
    }

    // Each path has the table of its children in one stretch, near to itself in time: siblings and
    // attributes find each other's.  Labels are small numbers, so they are their own hash.
    void add_child(uint32_t parent, uint32_t label, uint32_t child) {
        CachedPath& path = paths_[parent];
        if (path.child_count * 2 >= path.child_mask) {
            const uint32_t old = path.children, old_mask = path.child_mask;
            path.child_mask = old_mask == 0 ? 3 : old_mask * 2 + 1;
            path.children = count_of(slots_);
            slots_.resize(slots_.size() + path.child_mask + 1);
            for (uint32_t at = 0; old_mask != 0 && at <= old_mask; ++at) {
                if (slots_[old + at].path != NONE) put_child(path, slots_[old + at]);
            }
        }
        ++path.child_count;
        put_child(path, {label, child});
    }

    void put_child(const CachedPath& path, const ChildSlot& child) {
        uint32_t at = child.label;
        while (slots_[path.children + (at & path.child_mask)].path != NONE) ++at;
        slots_[path.children + (at & path.child_mask)] = child;
    }

    // --- building -----------------------------------------------------------------------------

    void build(uint32_t number) {
        const uint32_t parent = origins_[number].parent;
        reached_.clear();
        if (parent == NONE) {
            reached_.push_back(0);
            start_chain();
        } else {
            mark_chain(parent);
            reach(parent, origins_[number].label);
        }
        if (marked_ == number) marked_ = NONE;
        for (Lists& list : parts_) list.clear();
        active_.clear();
        below_.clear();
        groups_.clear();
        uint32_t edges = 0;
        for (size_t at = 0; at < reached_.size(); ++at) {
            if (at + AHEAD < reached_.size()) prefetch(reached_[at + AHEAD]);
            sort_in(reached_[at], edges);
        }
        const uint32_t values = groups_.empty() ? NONE : effects.copy(*index_, groups_);
        CachedPath& path = paths_[number];
        path.edges = static_cast<uint16_t>(edges | (below_.empty() ? 0 : CARRIES));
        path.values = values;
        for (size_t which = 0; which < 4; ++which) {
            path.lists[which] = append(lists_, parts_[which]);
        }
        path.lists[4] = count_of(lists_);
        PathOrigin& origin = origins_[number];
        origin.active = append(crossings_, active_);
        origin.below = append(crossings_, below_);
        origin.end = count_of(crossings_);
        origin.built = index_->version();
    }

    // Ask for what `sort_in` will look at.
    void prefetch(uint32_t number) const {
        const TrieNode& node = index_->trie[number];
        if (node.pattern != NONE) __builtin_prefetch(&chain_patterns_[node.pattern]);
        if (node.extra != NONE) __builtin_prefetch(&index_->extra(node.extra));
    }

    using Crossings = SpanOf<Crossing>;
    Crossings active(uint32_t path) const {
        return {crossings_.data() + origins_[path].active,
                crossings_.data() + origins_[path].below};
    }
    Crossings below(uint32_t path) const {
        return {crossings_.data() + origins_[path].below, crossings_.data() + origins_[path].end};
    }

    // Put what a trie node means into the lists of the path that reaches it.
    void sort_in(uint32_t number, uint32_t& edges) {
        const TrieNode& node = index_->trie[number];
        if (node.pattern != NONE) accept(node.pattern);
        if (node.extra != NONE) {
            const Extra& extra = index_->extra(node.extra);
            if (extra.probe != NONE) {
                parts_[PROBES].push_back(extra.probe);
                if (chain_probes_[extra.probe] != chain_) {
                    effects.triggers.copy(*index_, extra.probe, parts_[TRIGGERS]);
                }
            }
            if (extra.group != NONE) groups_.push_back(extra.group);
            if (extra.watch != NONE) parts_[WATCHES].push_back(extra.watch);
            for (uint32_t at = extra.accept; at != NONE; at = index_->link(at).next) {
                accept(index_->link(at).value);
            }
        }
        if ((node.edges & CHILD_EDGES) != 0) active_.push_back({number, tested(node.edges)});
        if ((node.edges & BELOW_EDGES) != 0 && chain_nodes_[number] != chain_) {
            below_.push_back({number, tested(node.edges)});
        }
        edges |= node.edges;
    }

    void accept(uint32_t pattern) {
        if (chain_patterns_[pattern] != chain_) parts_[ACCEPTED].push_back(pattern);
    }

    // --- marks --------------------------------------------------------------------------------

    // Mark the patterns, the probes and the `below` nodes of a path and of all above it.
    void mark_chain(uint32_t path) {
        if (marked_ == path) return;
        const uint32_t parent = origins_[path].parent;
        if (marked_ == NONE || parent != marked_) {
            start_chain();
            for (uint32_t at = parent; at != NONE; at = origins_[at].parent) mark(at);
        }
        mark(path);
        marked_ = path;
    }

    void start_chain() {
        marked_ = NONE;
        if (++chain_ != 0) return;
        std::fill(chain_patterns_.begin(), chain_patterns_.end(), 0);
        std::fill(chain_nodes_.begin(), chain_nodes_.end(), 0);
        std::fill(chain_probes_.begin(), chain_probes_.end(), 0);
        chain_ = 1;
    }

    void mark(uint32_t path) {
        for (const uint32_t pattern : list(paths_[path], ACCEPTED))
            chain_patterns_[pattern] = chain_;
        for (const uint32_t probe : list(paths_[path], PROBES)) chain_probes_[probe] = chain_;
        for (const Crossing& crossing : below(path)) chain_nodes_[crossing.node] = chain_;
    }

    // The trie nodes that a child of `parent` with that label reaches, each once.
    void reach(uint32_t parent, uint32_t label_number) {
        const Label label = labels[label_number];
        step(active(parent), label, label.child_tested, false, reached_);
        for (const uint32_t above : carriers_) {
            const BelowStep& step = below_step(above, label_number);
            reached_.insert(reached_.end(), nodes_.begin() + step.begin, nodes_.begin() + step.end);
        }
    }

    // Where edges of the label's tests lead.
    void step(Crossings crossings, const Label& label, const std::array<uint16_t, 4>& wanted,
              bool descendant, Lists& reached) {
        sought_.clear();
        for (const Crossing& crossing : crossings) {
            for (uint32_t at = 0; at < label.count; ++at) {
                if ((crossing.tested & wanted[at]) == 0) continue;
                index_->trie.seek(crossing.node, descendant, label.tests[at], index_->secret,
                                  sought_.emplace_back());
            }
        }
        for (Trie::Sought& sought : sought_) index_->trie.approach(sought);
        for (const Trie::Sought& sought : sought_) {
            const uint32_t target = index_->trie.reach(sought);
            if (target != NONE) reached.push_back(target);
        }
    }

    const BelowStep& below_step(uint32_t path, uint32_t label_number) {
        uint32_t number = below_table_.find(pair_of(path, label_number));
        const Label& label = labels[label_number];
        if (number == NONE) {
            number = count_of(below_steps_);
            below_steps_.push_back({0, 0, 0});
            below_table_.add(pair_of(path, label_number), number);
        } else if (below_steps_[number].built >= std::max(label.version, origins_[path].built)) {
            return below_steps_[number];
        }
        reached_below_.clear();
        step(below(path), label, label.below_tested, true, reached_below_);
        const uint32_t begin = append(nodes_, reached_below_);
        const uint32_t end = count_of(nodes_);
        return below_steps_[number] = {begin, end, index_->version()};
    }

    const Index* index_ = nullptr;
    uint64_t generation_ = NEVER;
    uint64_t version_ = NEVER;

    std::vector<CachedPath> paths_;
    std::vector<PathOrigin> origins_;
    std::vector<ChildSlot> slots_;
    std::vector<BelowStep> below_steps_;
    NumberTable below_table_;
    Lists lists_;                      // of the paths
    std::vector<Crossing> crossings_;  // of their origins
    Lists nodes_;                      // of the steps below
    size_t empty_size_ = 0;
    bool changed_ = false;  // the index, since all paths were forgotten

    uint32_t chain_ = 0;
    uint32_t marked_ = NONE;  // the path whose chain is marked
    std::vector<uint32_t> chain_patterns_;
    std::vector<uint32_t> chain_nodes_;
    std::vector<uint32_t> chain_probes_;

    std::vector<uint32_t> carriers_;
    std::vector<Trie::Sought> sought_;
    std::vector<Crossing> active_, below_;
    Lists reached_, reached_below_, groups_;
    Lists parts_[4];
};

}  // namespace twigcast::match
