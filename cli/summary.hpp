// What a training run says about itself, as sentences for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/model.hpp"
#include "topwolf/probabilities.hpp"
#include "topwolf/train.hpp"

namespace topwolf::cli {

using Json = nlohmann::ordered_json;

// "usunier, k = 20".
std::string describe_loss(const LossSpec& loss);
// What the objective is besides, where rows were less their mean: "", or words to be added.
std::string describe_centring(bool center);
std::string describe_problem(const Provenance& made);

// "at most 0.09 % above the optimum", rounded upwards.
std::string certificate_sentence(const Certificate& certificate);

// "at least 1.31 % and at most 1.33 % above the optimum", for shares of the optimum, rounded outwards.
std::string excess_sentence(double least, double most);

// "converged after 214 passes".
std::string status_sentence(Status status, std::int64_t iterations);

// A line on what can be done about a fit that stalled, whose rows had this precision.
std::string stalled_advice(Precision rows);

// k, rho and the loss's other parameters, null where the loss has none.
void add_loss(Json& document, const LossSpec& loss);

void add_certificate(Json& document, const Certificate& certificate);

// How a fit ended and how long it took; then by what: the loss, C, the solver and what was asked of it.
void add_outcome(Json& document, const TrainResult& result, double load_seconds, double train_seconds);
void add_method(Json& document, const TrainOptions& options, const TrainResult& result);

// What ends every document. `path`: of the model, "" for none.
void add_ending(Json& document, const std::string& path, const std::vector<std::string>& warnings);

void add_probability_errors(Json& document, const ProbabilityErrors& errors);

// The document as text. Labels and names of files may be any bytes; those that are not UTF-8 are replaced.
std::string dump(const Json& document);

}  // namespace topwolf::cli
