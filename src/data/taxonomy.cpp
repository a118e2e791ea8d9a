// A tree over the classes: the classes' features are their ancestors and themselves, their costs half the way from one
// to the other.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/text.hpp"
#include "topwolf/structure.hpp"

namespace topwolf {
namespace {

// What the edges came from, for messages: lines of a file, or a list.
struct Origin {
  std::string whole;   // "tree.txt: ", ""
  std::string before;  // a place: "tree.txt:", "edge "
  std::string unit;    // "line", "edge"
};

// An edge and where it stands, counted from 1.
struct PlacedEdge {
  std::string_view child, parent;
  std::int64_t place = 0;
};

struct Node {
  std::string name;
  std::int64_t line = 0;         // the place where it was first named
  std::int64_t parent = -1;      // none: a root
  std::int64_t parent_line = 0;  // the same of its parent
  bool has_children = false;
  std::int64_t of_class = -1;  // the class it is, if any
};

class Tree {
 public:
  Tree(const std::vector<PlacedEdge>& edges, Origin origin) : origin_(std::move(origin)) {
    for (const PlacedEdge& edge : edges) add(edge);
    check_cycles();
    find_root();
  }

  void name_classes(const ClassList& classes) {
    RawDataset names;
    for (const Node& node : nodes_) {
      names.label.push_back(static_cast<std::int32_t>(names.spelling.size()));
      names.spelling.push_back(node.name);
    }
    const std::vector<std::int32_t> number = map_labels(names, classes);
    class_node_.assign(classes.names.size(), -1);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      Node& node = nodes_[k];
      node.of_class = number[k];
      if (node.of_class >= 0) {
        auto& place = class_node_[static_cast<std::size_t>(node.of_class)];
        if (place >= 0) {
          refuse(node.line, "{} and {} are the same class", quote(node.name),
                 quote(nodes_[static_cast<std::size_t>(place)].name));
        }
        place = static_cast<std::int64_t>(k);
        if (static_cast<std::int64_t>(k) == root_) {
          refuse(node.line, "the class {} is the root, which has no features", quote(node.name));
        }
      } else if (!node.has_children) {
        refuse(node.line, "{} is no class of the data, and the parent of none", quote(node.name));
      }
    }
    const auto missing = std::find(class_node_.begin(), class_node_.end(), -1);
    if (missing != class_node_.end()) {
      fail(ErrorKind::data, "{}the class {} is not in the taxonomy", origin_.whole,
           quote(classes.names[static_cast<std::size_t>(missing - class_node_.begin())]));
    }
  }

  // A column for every class, in their order, then one for every other node below the root.
  Features features() const {
    const auto m = static_cast<std::int64_t>(class_node_.size());
    std::vector<std::int32_t> column(nodes_.size(), -1);
    std::int64_t next = m;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (static_cast<std::int64_t>(k) == root_) continue;
      column[k] = static_cast<std::int32_t>(nodes_[k].of_class >= 0 ? nodes_[k].of_class : next++);
    }
    CsrStore<double> phi;
    phi.rows = m;
    phi.cols = next;
    phi.row_begin.push_back(0);
    for (const std::int64_t leaf : class_node_) {
      const auto begin = static_cast<std::ptrdiff_t>(phi.column.size());
      for (std::int64_t k = leaf; k != root_; k = parent(k)) phi.column.push_back(column[static_cast<std::size_t>(k)]);
      std::sort(phi.column.begin() + begin, phi.column.end());
      phi.row_begin.push_back(static_cast<std::int64_t>(phi.column.size()));
    }
    phi.values.assign(phi.column.size(), 1.0);
    return Features(FeatureStore(std::move(phi)));
  }

  // Half the number of edges between any two classes, (m x m).
  std::vector<double> costs() const {
    const std::size_t m = class_node_.size();
    std::vector<double> out(m * m, 0.0);
    std::vector<std::int64_t> steps(nodes_.size());  // from the class to each of its ancestors, itself included
    for (std::size_t a = 0; a < m; ++a) {
      std::fill(steps.begin(), steps.end(), -1);
      std::int64_t up = 0;
      for (std::int64_t k = class_node_[a]; k >= 0; k = parent(k)) steps[static_cast<std::size_t>(k)] = up++;
      for (std::size_t b = 0; b < m; ++b) {
        std::int64_t k = class_node_[b], edges = 0;
        for (; steps[static_cast<std::size_t>(k)] < 0; k = parent(k)) ++edges;
        out[a * m + b] = 0.5 * static_cast<double>(edges + steps[static_cast<std::size_t>(k)]);
      }
    }
    return out;
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(std::int64_t line, fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "{}{}: {}", origin_.before, line, fmt::format(format, std::forward<Args>(args)...));
  }

  std::int64_t parent(std::int64_t k) const { return nodes_[static_cast<std::size_t>(k)].parent; }

  void add(const PlacedEdge& edge) {
    const std::int64_t child = node(edge.child, edge.place);
    const std::int64_t above = node(edge.parent, edge.place);
    Node& at = nodes_[static_cast<std::size_t>(child)];
    if (at.parent >= 0) {
      refuse(edge.place, "{} has a second parent; the first is in {} {}", quote(at.name), origin_.unit, at.parent_line);
    }
    at.parent = above;
    at.parent_line = edge.place;
    nodes_[static_cast<std::size_t>(above)].has_children = true;
  }

  std::int64_t node(std::string_view name, std::int64_t line) {
    const auto [found, is_new] = number_.emplace(name, static_cast<std::int64_t>(nodes_.size()));
    if (is_new) {
      Node node;
      node.name = name;
      node.line = line;
      nodes_.push_back(std::move(node));
    }
    return found->second;
  }

  // Everybody comes to an end after fewer steps than there are nodes. No way is walked twice, so that long chains take
  // no longer than others.
  void check_cycles() const {
    std::vector<bool> walked(nodes_.size());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      std::vector<std::size_t> way;
      for (auto at = static_cast<std::int64_t>(k); at >= 0 && !walked[static_cast<std::size_t>(at)]; at = parent(at)) {
        if (way.size() == nodes_.size()) refuse_cycle(at);
        way.push_back(static_cast<std::size_t>(at));
      }
      for (const std::size_t at : way) walked[at] = true;
    }
  }

  // Names the line that closed the cycle.
  [[noreturn]] void refuse_cycle(std::int64_t member) const {
    std::int64_t last = member;
    for (std::int64_t at = parent(member); at != member; at = parent(at)) {
      if (nodes_[static_cast<std::size_t>(at)].parent_line > nodes_[static_cast<std::size_t>(last)].parent_line)
        last = at;
    }
    const Node& node = nodes_[static_cast<std::size_t>(last)];
    refuse(node.parent_line, "{} is its own ancestor", quote(node.name));
  }

  void find_root() {
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (nodes_[k].parent >= 0) continue;
      if (root_ >= 0) {
        const Node& first = nodes_[static_cast<std::size_t>(root_)];
        refuse(nodes_[k].line, "{} has no parent, and neither has {} ({} {}), but a tree has one root",
               quote(nodes_[k].name), quote(first.name), origin_.unit, first.line);
      }
      root_ = static_cast<std::int64_t>(k);
    }
  }

  const Origin origin_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::int64_t> number_;
  std::int64_t root_ = -1;
  std::vector<std::int64_t> class_node_;
};

PlacedEdge edge_of(std::string_view line, std::int64_t number, const std::string& name) {
  const char* const separators = line.find('\t') != std::string_view::npos ? "\t" : " ";
  const std::size_t end = line.find_first_of(separators);
  const std::size_t begin = line.find_first_not_of(separators, std::min(end, line.size()));
  if (begin == std::string_view::npos || line.find_first_of(separators, begin) != std::string_view::npos) {
    fail(ErrorKind::data,
         "{}:{}: a line has a child and its parent, separated by a blank, or by a tab where names have blanks", name,
         number);
  }
  return {trim_blanks(line.substr(0, end)), trim_blanks(line.substr(begin)), number};
}

Taxonomy taxonomy_of(const std::vector<PlacedEdge>& edges, Origin origin, const ClassList& classes) {
  if (edges.empty()) fail(ErrorKind::data, "{}the taxonomy is empty", origin.whole);
  Tree tree(edges, std::move(origin));
  tree.name_classes(classes);
  return {tree.features(), tree.costs()};
}

}  // namespace

Taxonomy make_taxonomy(const std::vector<TaxonomyEdge>& edges, const ClassList& classes) {
  std::vector<PlacedEdge> placed;
  for (const TaxonomyEdge& edge : edges) {
    placed.push_back({edge.child, edge.parent, static_cast<std::int64_t>(placed.size()) + 1});
    if (edge.child.empty() || edge.parent.empty()) fail(ErrorKind::data, "edge {}: a name is empty", placed.size());
  }
  return taxonomy_of(placed, {"", "edge ", "edge"}, classes);
}

Taxonomy load_taxonomy(const std::string& path, const ClassList& classes, UnpackLimit max_unpacked) {
  const std::string name = display_name(path);
  const Buffer bytes = read_bytes(path, max_unpacked);
  check_no_nul(bytes.view(), name);
  std::vector<PlacedEdge> edges;
  for_lines(skip_byte_order_mark(bytes.view()), [&](std::int64_t number, std::string_view line) {
    const std::string_view content = trim_blanks(line);
    if (!content.empty() && !content.starts_with('#')) edges.push_back(edge_of(content, number, name));
  });
  return taxonomy_of(edges, {name + ": ", name + ":", "line"}, classes);
}

}  // namespace topwolf
