// topwolf verify: the model's claim against its data and dual. Exit code 0 only if the claim holds.
#include <fmt/format.h>

#include "commands.hpp"
#include "core/fail.hpp"
#include "data_options.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

constexpr int does_not_hold = 3;

std::string to_text(const Verification& found, const Certificate& claim) {
  std::string text = fmt::format("{:<14} {:>22} {:>22}\n", "", "claimed", "recomputed");
  const auto row = [&](std::string_view name, double claimed, double recomputed) {
    text += fmt::format("{:<14} {:>22.15g} {:>22.15g}\n", name, claimed, recomputed);
  };
  row("primal", claim.primal, found.primal);
  row("dual", claim.dual, found.dual);
  row("gap", claim.gap(), found.gap);
  row("relative gap", claim.relative_gap(), found.relative_gap);
  text += fmt::format("{:<14} {:>22} {:>22.3g}\n", "infeasibility", "", found.infeasibility);
  return text + fmt::format("{}: {}\n", found.holds ? "holds" : "does not hold", found.finding);
}

Json to_json(const Verification& found, const Certificate& claim) {
  Json claimed = Json::object();
  add_certificate(claimed, claim);
  return {{"holds", found.holds},
          {"finding", found.finding},
          {"primal", found.primal},
          {"dual", found.dual},
          {"gap", found.gap},
          {"relative_gap", found.relative_gap},
          {"infeasibility", found.infeasibility},
          {"claimed", claimed}};
}

}  // namespace

int run_verify(const Arguments& arguments) {
  if (!arguments.has("dual"))
    fail(ErrorKind::option, "--dual is missing; it names the file that 'topwolf train --dual FILE' wrote");
  RowOptions options = row_options(arguments, arguments.required_positional(0));
  const std::string& model_path = arguments.required_positional(1);
  const Model model = load_model(model_path);
  if (!model.provenance.claim)
    fail(ErrorKind::data, "{}: the model holds no certificate; only topwolf's own models do", model_path);
  // A model with weights for some columns alone looks them up in rows that are in memory.
  options.on_disk = model.columns.empty() && can_stay_on_disk(options.path);
  Warnings warnings;
  // Features that the model does not know weigh 0 in P, but not in D: with them it is another problem, and refused.
  const Dataset data = prepare_for(model, options, {.wider = true}, warnings.teller());
  const SparseRows dual = load_dual(arguments.text("dual"), data.X.rows(), model.m());
  const Verification found = verify(data, model, dual);
  print(arguments.has("json") ? dump(to_json(found, model.provenance.claim->certificate))
                              : to_text(found, model.provenance.claim->certificate));
  return found.holds ? 0 : does_not_hold;
}

}  // namespace topwolf::cli
