#pragma once

#include <memory>

#include "module.hpp"

namespace topwolf::python {

// A topwolf._oracle.Asked as the library sees it, which keeps it for as long as it is asked.
std::shared_ptr<const LossOracle> oracle_from(nb::object asked);

}  // namespace topwolf::python
