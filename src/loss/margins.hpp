// Margins row by row, as the losses see them.
#pragma once

#include <variant>

#include "loss/row.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// Row i of margins in float64.
inline RowMargins row_margins(const Margins& margins, std::int64_t i) {
  if (const auto* dense = std::get_if<DenseView<double>>(&margins.values.view())) {
    return dense->data + i * dense->stride;
  }
  const auto& sparse = std::get<CsrView<double>>(margins.values.view());
  const std::int64_t begin = sparse.row_begin[i];
  RowMargins row;
  row.other = margins.other;
  row.exceptions = sparse.row_begin[i + 1] - begin;
  row.column = sparse.column + begin;
  row.exception = sparse.value + begin;
  return row;
}

}  // namespace topwolf
