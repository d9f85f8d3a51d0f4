// Which twigs of a set are covered by an asked one: its paths are sought in the factorization tree.
//
// A path is followed from the root as far as its edges are exact.  The first `//` would lead
// everywhere; from there on the walk looks at the trie nodes of the last name instead: most are
// passed over by the names above them, the others are climbed from, edge by edge, to see whether
// the path leads there.  What follows the last name (a `*`, a comparison) is sought below.  All
// twigs with a path through a trie node at the end have the asked path; the path of the asked twig
// with the fewest of them gives the candidates.  In a tail, nobody but its twig is meant, which is
// compared where the path does not say it all.
//
// Cost: the trie nodes of one name for each path, a word each, and the twigs reported.
#pragma once

#include <utility>

#include "cover/path_trie.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

class CoveredWalk {
public:
    CoveredWalk(const Terms& terms, const PathTrie& trie, const std::vector<StoredTwig>& twigs)
        : terms_(terms), trie_(trie), twigs_(twigs) {}

    // Call `report(twig, has_path)` for each twig that has, or may have, a rare path of the asked
    // one; some come several times.  Returns whether that is its only path.
    template <class Report>
    bool run(const Twig& asking, Report report) {
        marks_.resize(trie_.capacity(), 0);
        asking_ = &asking;
        is_exact_ = true;
        list_paths();
        best_.clear();
        best_.cost = ~uint64_t{0};
        for (const Path& path : paths_) {
            // To compare these twigs may be cheaper than to look for a rarer path.
            if (best_.cost < path.effort / COMPARING) break;
            follow(path.leaf, other_);
            if (path.atom != NONE) compare(path.atom);
            other_.count(trie_);
            if (other_.cost < best_.cost) std::swap(best_, other_);
            if (best_.cost == 0) return true;
        }
        ++mark_;
        for (const uint32_t trie_node : best_.trie_nodes) report_below(trie_node, report);
        for (const uint32_t twig : best_.sure) report(twig, true);
        for (const uint32_t twig : best_.perhaps) report(twig, false);
        return paths_.size() == 1 && is_exact_;
    }

private:
    struct Hits {
        std::vector<uint32_t> trie_nodes;  // each twig through one of these has the path
        std::vector<uint32_t> sure;        // twigs that have it in a tail
        std::vector<uint32_t> perhaps;     // twigs that may have it in a tail
        uint64_t cost = 0;

        void clear() {
            trie_nodes.clear();
            sure.clear();
            perhaps.clear();
        }
        // What is sure so far need not go on in the tail.
        void doubt() {
            perhaps.insert(perhaps.end(), sure.begin(), sure.end());
            sure.clear();
        }
        void count(const PathTrie& trie) {
            cost = sure.size() + perhaps.size();
            for (const uint32_t trie_node : trie_nodes) cost += trie.passing(trie_node);
        }
    };

    struct Path {
        uint32_t leaf;
        uint32_t atom;  // NONE where the path ends with a node
        uint64_t effort;
    };

    // The paths of the asked twig, those that are easy to follow first.
    void list_paths() {
        const std::vector<AskedNode>& asked = asking_->asked;
        paths_.clear();
        inner_.assign(asked.size(), 0);
        for (auto at = count_of(asked) - 1; at > 0; --at) {
            const AskedNode& node = asked[at];
            inner_[node.parent] = 1;
            if (inner_[at] && node.atom_count == 0) continue;
            const uint64_t effort = effort_to(at);
            for (uint32_t atom = 0; atom < node.atom_count; ++atom) {
                paths_.push_back({at, asking_->atoms[node.atoms + atom], effort});
            }
            if (node.atom_count == 0) paths_.push_back({at, NONE, effort});
        }
        std::stable_sort(paths_.begin(), paths_.end(), [](const Path& one, const Path& other) {
            return one.effort < other.effort;
        });
    }

    // How many trie nodes are looked at, about: those of the last name behind a `//`.
    uint64_t effort_to(uint32_t leaf) const {
        const std::vector<AskedNode>& asked = asking_->asked;
        uint32_t name = 0;
        bool is_far = false;
        for (uint32_t at = leaf; at != 0; at = asked[at].parent) {
            if (name == 0 && asked[at].label != ANY_ELEMENT) name = at;
            is_far = is_far || (!asked[at].exact && !asked[at].depth_only);
        }
        if (!is_far) return 1;
        if (name == 0) return trie_.size();
        if (!terms_.is_name(asked[name].label)) return trie_.size();
        const uint32_t label = asked[name].label;
        return trie_.nodes_of(label).size() + trie_.hidden_of(label).size();
    }

    void follow(uint32_t leaf, Hits& hits) {
        hits.clear();
        const std::vector<AskedNode>& asked = asking_->asked;
        path_.clear();
        for (uint32_t at = leaf; at != 0; at = asked[at].parent) {
            if (!asked[at].is_fork) {
                path_.push_back(asked[at]);
                continue;
            }
            // It may be an element that no trie node stands for, so here it is a length.
            AskedNode& below = path_.back();
            below.length = static_cast<uint16_t>(below.length + asked[at].length);
            below.exact = below.exact && asked[at].exact;
        }
        std::reverse(path_.begin(), path_.end());
        size_t far = 0, names = 0;
        while (far < path_.size() && path_[far].exact) ++far;
        for (size_t at = far; at < path_.size(); ++at) {
            if (path_[at].label != ANY_ELEMENT) names = at + 1;
        }
        hits.trie_nodes.push_back(PathTrie::ROOT);
        size_t done = 0;
        for (; done < far; ++done) go_on(path_[done], hits);
        if (far < names) {
            find_name(far, names - 1, hits);
            done = names;
        }
        for (; done < path_.size(); ++done) go_on(path_[done], hits);
    }

    // From the trie nodes reached so far to those of the name at `last`, by the edges from `far`
    // on.
    void find_name(size_t far, size_t last, Hits& hits) {
        uint64_t names = 0;
        for (size_t at = 0; at <= last; ++at) {
            if (terms_.is_name(path_[at].label)) names |= Twig::bit_of(path_[at].label);
        }
        ++mark_;
        for (const uint32_t trie_node : hits.trie_nodes) marks_[trie_node] = mark_;
        hits.trie_nodes.clear();
        const uint32_t asked = path_[last].label;
        if (terms_.is_name(asked)) {
            find_label(asked, far, last, names, hits);
            return;
        }
        for (uint32_t label = 0; label < terms_.label_count(); ++label) {
            if (terms_.accepts(asked, label)) find_label(label, far, last, names, hits);
        }
    }

    void find_label(uint32_t label, size_t far, size_t last, uint64_t names, Hits& hits) {
        const bool is_anywhere = far == 0 && last == 0 && path_[0].length == 1;
        for (const Posting& posting : trie_.nodes_of(label)) {
            if ((names & ~posting.lineage) != 0) continue;
            if (is_anywhere) {
                hits.trie_nodes.push_back(posting.trie_node);
                continue;
            }
            start_climb();
            climb_trie(posting.trie_node);
            if (leads_here(far, last)) hits.trie_nodes.push_back(posting.trie_node);
        }
        for (const HiddenPosting& posting : trie_.hidden_of(label)) {
            if ((names & ~posting.lineage) != 0) continue;
            start_climb();
            const std::vector<GivenNode>& nodes = twigs_[posting.twig].twig.nodes;
            uint32_t node = posting.node;
            for (; nodes[node].trie_node == NONE; node = nodes[node].parent) {
                climb(nodes[node].label, nodes[node].exact, false);
            }
            climb_trie(nodes[node].trie_node);
            if (leads_here(far, last)) hits.sure.push_back(posting.twig);
        }
    }

    // The nodes above a candidate: what each node is called, which edges are to children, and which
    // nodes are trie nodes that the path leads to so far.
    void start_climb() {
        labels_.clear();
        exact_ = marked_ = 0;
    }
    void climb(uint32_t label, bool exact, bool marked) {
        if (labels_.size() < HIGHEST) {
            const Heights height = Heights{1} << labels_.size();
            if (exact) exact_ |= height;
            if (marked) marked_ |= height;
        }
        labels_.push_back(label);
    }
    void climb_trie(uint32_t trie_node) {
        while (trie_node != PathTrie::ROOT) {
            const EdgeAbove& edge = trie_.edge_above(trie_node);
            climb(edge.label, edge.edge == EXACT, marks_[trie_node] == mark_);
            trie_node = edge.parent;
        }
        climb(ANY_ELEMENT, false, marks_[trie_node] == mark_);
    }

    // Whether the path leads from a marked trie node to the bottom of the climb: the sets of
    // heights above it where each asked node can be, from the last upwards.
    bool leads_here(size_t far, size_t last) {
        const size_t top = labels_.size() - 1;  // the document node, which is nobody's element
        if (top >= HIGHEST) {
            is_exact_ = false;  // every twig reported is compared then
            return true;
        }
        Heights heights = 1;
        for (size_t at = last;; --at) {
            const AskedNode& node = path_[at];
            if (node.exact) {
                for (uint32_t length = node.length; length > 0; --length) {
                    heights = (heights & exact_) << 1;
                }
            } else if (node.length < HIGHEST) {
                // Any height so far above the lowest will do.
                heights = ~((((heights & -heights) << node.length) - 1));
            } else {
                return false;
            }
            if (at == far) return (heights & marked_) != 0;
            const uint32_t wanted = path_[at - 1].label;
            heights &= (Heights{1} << top) - 1;
            for (Heights left = heights; left; left &= left - 1) {
                const int height = __builtin_ctzll(left);
                if (!terms_.accepts(wanted, labels_[static_cast<size_t>(height)])) {
                    heights ^= left & -left;
                }
            }
            if (!heights) return false;
        }
    }

    // Follow an edge from the trie nodes reached so far.
    void go_on(const AskedNode& edge, Hits& hits) {
        from_.swap(hits.trie_nodes);
        hits.trie_nodes.clear();
        ++mark_;
        for (const uint32_t trie_node : from_) {
            if (edge.exact || edge.depth_only) {
                go_down(trie_node, edge.length, edge, hits);
            } else {
                go_far_down(trie_node, edge.length, edge, hits);
            }
        }
        hits.doubt();
    }

    // The trie nodes so many edges below: child edges where the edge is exact.
    void go_down(uint32_t trie_node, uint32_t length, const AskedNode& edge, Hits& hits) {
        if (is_hidden_below(trie_node, hits)) return;
        if (length == 1 && edge.exact && terms_.is_name(edge.label)) {
            const uint32_t child = trie_.child(trie_node, edge.label, EXACT);
            if (child != NONE) hits.trie_nodes.push_back(child);
            return;
        }
        for (uint32_t child = trie_.at(trie_node).first_child; child != NONE;
             child = trie_.at(child).next) {
            const TrieNode& below = trie_.at(child);
            if (edge.exact && below.edge != EXACT) continue;
            if (length > 1) {
                go_down(child, length - 1, edge, hits);
            } else if (terms_.accepts(edge.label, below.label)) {
                hits.trie_nodes.push_back(child);
            }
        }
    }

    // All trie nodes that far below or farther; those below another one were visited with it.
    void go_far_down(uint32_t trie_node, uint32_t length, const AskedNode& edge, Hits& hits) {
        if (is_hidden_below(trie_node, hits)) return;
        for (uint32_t child = trie_.at(trie_node).first_child; child != NONE;
             child = trie_.at(child).next) {
            if (length > 1) {
                go_far_down(child, length - 1, edge, hits);
            } else if (marks_[child] != mark_) {
                marks_[child] = mark_;
                if (terms_.accepts(edge.label, trie_.at(child).label))
                    hits.trie_nodes.push_back(child);
                go_far_down(child, 1, edge, hits);
            }
        }
    }

    bool is_hidden_below(uint32_t trie_node, Hits& hits) const {
        if (!trie_.at(trie_node).is_tail()) return false;
        hits.perhaps.push_back(trie_.at(trie_node).tail_twig);
        return true;
    }

    // Of the hits for a node, keep those that have a comparison that implies the asked one.
    void compare(uint32_t asked) {
        Hits& hits = other_;
        from_.swap(hits.trie_nodes);
        hits.trie_nodes.clear();
        hits.doubt();
        const Atom& wanted = terms_.atom(asked);
        for (const uint32_t trie_node : from_) {
            if (is_hidden_below(trie_node, hits)) continue;
            if (wanted.comparison == Comparison::equal_text) {
                const uint32_t child = trie_.child(trie_node, asked, ATOM);
                if (child != NONE) hits.trie_nodes.push_back(child);
                continue;
            }
            for (const uint32_t first :
                 {trie_.at(trie_node).first_atom, trie_.at(trie_node).first_equal}) {
                for (uint32_t child = first; child != NONE; child = trie_.at(child).next) {
                    if (terms_.implies(trie_.at(child).label, asked))
                        hits.trie_nodes.push_back(child);
                }
            }
        }
    }

    template <class Report>
    void report_below(uint32_t trie_node, Report& report) {
        if (marks_[trie_node] == mark_) return;
        marks_[trie_node] = mark_;
        const auto has_path = [&](uint32_t twig) { report(twig, true); };
        trie_.for_given(trie_node, has_path);
        const TrieNode& here = trie_.at(trie_node);
        for (const uint32_t first : {here.first_child, here.first_atom, here.first_equal}) {
            for (uint32_t child = first; child != NONE; child = trie_.at(child).next) {
                report_below(child, report);
            }
        }
    }

    using Heights = uint64_t;
    static constexpr size_t HIGHEST = 63;
    // As many trie nodes are looked at in the time of one comparison.
    static constexpr uint64_t COMPARING = 8;

    const Terms& terms_;
    const PathTrie& trie_;
    const std::vector<StoredTwig>& twigs_;
    const Twig* asking_ = nullptr;
    Hits best_, other_;
    std::vector<Path> paths_;
    std::vector<AskedNode> path_;
    std::vector<uint32_t> labels_, from_;
    Heights exact_ = 0, marked_ = 0;
    bool is_exact_ = true;
    std::vector<uint8_t> inner_;
    std::vector<uint64_t> marks_;
    uint64_t mark_ = 0;
};

}  // namespace twigcast::cover
