// Taxonomies: phi has a row per class, and the cost between two classes is half the number of nodes that only one of
// them descends from or is.
#include <iterator>

#include "data/check_dataset.hpp"
#include "fuzz.hpp"
#include "topwolf/structure.hpp"

using namespace topwolf;

namespace {

void check(const Taxonomy& tree, std::int64_t m) {
  check_class_features(tree.class_features, m);
  const auto& phi = std::get<CsrView<double>>(tree.class_features.view());
  fuzz::require(phi.rows == m && tree.cost_matrix.size() == static_cast<std::size_t>(m * m), "all classes are there");
  const auto row = [&](std::int64_t j) {
    return std::pair(phi.column + phi.row_begin[j], phi.column + phi.row_begin[j + 1]);
  };
  for (std::int64_t a = 0; a < m; ++a) {
    for (std::int64_t b = 0; b < m; ++b) {
      std::vector<std::int32_t> apart;
      std::set_symmetric_difference(row(a).first, row(a).second, row(b).first, row(b).second,
                                    std::back_inserter(apart));
      fuzz::require(2.0 * tree.cost_matrix[static_cast<std::size_t>(a * m + b)] == static_cast<double>(apart.size()),
                    "costs are half the edges between two classes");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::stored(fuzz::text_of(data, size), "input.txt");
  for (const ClassList& classes :
       {ClassList{LabelType::text, {"a", "b", "c d"}}, ClassList{LabelType::integer, {"1", "2", "30"}}}) {
    const auto tree = fuzz::attempt([&] { return load_taxonomy(path, classes); });
    if (tree) check(*tree, classes.size());
  }
  return 0;
}
