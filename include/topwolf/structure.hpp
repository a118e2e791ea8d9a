// What classes have to do with each other: features of classes, costs of errors, taxonomies (structured.md).
// Everything here throws Error{data} that names the file, the place and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"

namespace topwolf {

// ---- Features of classes

// phi (m x p) from a data file with a row per class: by label where rows have labels, rows of other labels left out;
// else in the order of the classes.
Features load_class_features(const std::string& path, const ClassList& classes, std::optional<int> index_base = {},
                             UnpackLimit max_unpacked = {});

// Classes and their features.
struct ClassTable {
  ClassList classes;  // in their order
  Features features;  // (m x p)
};
// All the classes of such a file, which must have labels, and p columns.
ClassTable load_class_table(const std::string& path, std::int64_t p, std::optional<int> index_base = {},
                            UnpackLimit max_unpacked = {});

// ---- Costs of errors

// (n x m) from a data file with a column per class in their order; what a sparse file does not store is `other`.
Margins load_margins(const std::string& path, std::int64_t n, std::int64_t m, double other = 1.0,
                     std::optional<int> index_base = {}, UnpackLimit max_unpacked = {});

// Between classes (m x m), row-major, row = true class: finite, at least 0, zero on the diagonal; LossSpec::cost_matrix
// takes it. Text separated by blanks or commas, one row a line, lines that are blank or start with # left out; or .npy.
std::vector<double> load_cost_matrix(const std::string& path, std::int64_t m, UnpackLimit max_unpacked = {});

// ---- A tree over the classes

// What a tree says about the classes.
struct Taxonomy {
  Features class_features;          // phi: 1 for a class itself and for each of its ancestors below the root
  std::vector<double> cost_matrix;  // (m x m): half the number of edges between two classes
};
// An edge of it.
struct TaxonomyEdge {
  std::string child;   // a class, or a parent elsewhere
  std::string parent;  // any name, not empty
};
// Edges in any order: every node but one, the root, is a child once; leaves are classes.
Taxonomy make_taxonomy(const std::vector<TaxonomyEdge>& edges, const ClassList& classes);
// The same from a file: an edge a line, separated by a blank, or by a tab where names have blanks.
Taxonomy load_taxonomy(const std::string& path, const ClassList& classes, UnpackLimit max_unpacked = {});
}  // namespace topwolf
