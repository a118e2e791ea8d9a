// Pages, made of what classifiers say: ours and others' alike.
#include <algorithm>
#include <limits>

#include "core/threads.hpp"
#include "module.hpp"
#include "report/comparison.hpp"

namespace topwolf::python {
namespace {

// contenders: (name, sentence, number of classes, best classes of every row).
std::string comparison_page_of(std::vector<std::string> classes, const LabelArray& y, const nb::list& contenders,
                               int threads) {
  using Best = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  Comparison comparison;
  comparison.source = "given from Python";
  comparison.classes = std::move(classes);
  comparison.y = to_vector(y);
  comparison.threads = resolve_threads(threads);
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const nb::handle given : contenders) {
    const auto best = nb::cast<Best>(given[3]);
    const auto m = nb::cast<std::int64_t>(given[2]);
    comparison.contenders.push_back({nb::cast<std::string>(given[0]),
                                     nb::cast<std::string>(given[1]),
                                     m,
                                     static_cast<std::int64_t>(best.shape(1)),
                                     {best.data(), best.data() + best.size()}});
    fewest = std::min(fewest, m);
  }
  comparison.places = usual_places(fewest);
  return comparison_page(comparison);
}

}  // namespace

void bind_report(nb::module_& module) {
  module.def("comparison_page", &comparison_page_of, nb::arg("classes"), nb::arg("y"), nb::arg("contenders"),
             nb::arg("threads"));
}

}  // namespace topwolf::python
