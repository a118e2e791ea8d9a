// What train, sweep and cv share: how to train, and on what. What can be refused early is refused before data is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "data_options.hpp"
#include "summary.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {

// Everything but the loss, C and lambda; not checked, which is for the command, once it has these.
TrainOptions training_options(const Arguments& arguments);

// --bias and --center; what is centred has a constant feature, of 1 unless --bias says otherwise.
void set_bias(const Arguments& arguments, TrainOptions& options);

// The values of --C of sweep and cv.
std::vector<double> grid_of(const Arguments& arguments);

// Standard input can be read by one of them only.
void check_inputs(const Arguments& arguments);

// Each can be written, is none of the inputs, and is given once. `models`: outputs that are no option's.
void check_outputs(const Arguments& arguments, const std::vector<std::string>& models);

// The same of one of them when it is about to be written, for a job takes its time: what was made read-only meanwhile,
// or leads to an input now, stays. Error{io} whatever it is. "" is no output.
void check_still(const Arguments& arguments, const std::string& output, std::string_view format = "");

// The model of a fit, with where its labels stood and the command; "" is no output.
void save_trained(const Arguments& arguments, Model& model, const std::string& path);

// MODEL, or another output that is an argument, if it is given: neither empty nor "-".
std::string output_argument(const Arguments& arguments, std::size_t place, const char* name);

// What is trained on. What contradicts itself is refused.
DataOptions data_options(const Arguments& arguments);

// n, d, m and what was done to the rows.
void add_data(Json& document, const Dataset& data);

}  // namespace topwolf::cli
