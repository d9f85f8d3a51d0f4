// The canonical text of a path, read step by step: `/a//Q{urn:p}b/@*`.
#pragma once

#include "base/common.hpp"
#include "index/node_tests.hpp"

namespace twigcast::index {

using namespace base;

class PathText {
public:
    explicit PathText(std::string_view text) : rest_(text) {}

    // Go on to the next step; false at the end, or where the text is no path.
    bool next() {
        if (rest_.empty() || rest_[0] != '/') return false;
        rest_.remove_prefix(1);
        descendant = take('/');
        kind = take('@') ? Kind::attribute : Kind::element;
        if (rest_ == "text()") {
            rest_ = {};
            kind = Kind::text;
            form = Form::any;
            return true;
        }
        if (rest_.substr(0, 2) == "Q{") {
            const size_t end = rest_.find('}');
            if (end == std::string_view::npos) return false;
            word = rest_.substr(2, end - 2);
            rest_.remove_prefix(end + 1);
            const std::string_view local = take_name();
            form = local == "*" ? Form::space : Form::name;
            if (form == Form::name && !word.empty()) word += NAMESPACE_SEPARATOR;
            if (form == Form::name) word += local;
            return !local.empty();
        }
        const std::string_view name = take_name();
        form = name == "*" ? Form::any : name.substr(0, 2) == "*:" ? Form::local : Form::name;
        word = form == Form::local ? name.substr(2) : name;
        return !name.empty();
    }

    bool at_end() const { return rest_.empty(); }

    bool descendant = false;
    Kind kind = Kind::element;
    Form form = Form::any;
    std::string word;

private:
    bool take(char wanted) {
        if (rest_.empty() || rest_[0] != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view take_name() {
        const std::string_view name = rest_.substr(0, rest_.find('/'));
        rest_.remove_prefix(name.size());
        return name;
    }

    std::string_view rest_;
};

// Whether a text is a path.
inline bool is_path(std::string_view path) {
    PathText steps(path);
    bool any = false, is_leaf = false;
    while (steps.next()) {
        if (is_leaf) return false;  // nothing lies below an attribute or a text node
        is_leaf = steps.kind != Kind::element;
        any = true;
    }
    return any && steps.at_end();
}

}  // namespace twigcast::index
