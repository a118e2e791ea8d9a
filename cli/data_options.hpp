// The options that every command reading data shares, and the rules for reading data that meets a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "terminal.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/model.hpp"

namespace topwolf::cli {

int threads_of(const Arguments& arguments);

// --index-base; none where it is auto.
std::optional<int> index_base_of(const Arguments& arguments);

LoadOptions load_options(const Arguments& arguments, const std::string& path);

// The same for rows that meet a model: its index base, label column and precision unless told otherwise, its width.
LoadOptions load_options_for(const Arguments& arguments, const std::string& path, const Classifier& model);

// Rows as the model wants them: its index base and precision unless told otherwise, its width, its normalisation.
// Sparse indices beyond its width are dropped with one warning; a dense row of another width is an Error{data}.
RawDataset load_for_model(const Arguments& arguments, const std::string& path, const Classifier& model,
                          bool labels_optional, Warnings& warnings);

RawDataset load_for_model(const LoadOptions& options, const Classifier& model, Warnings& warnings);

// --weights and --class-weight, on top of what the labels say.
void apply_weights(const Arguments& arguments, Dataset& data);

// Whether the file is a model (.topwolf or LIBLINEAR's), by its first bytes.
bool is_model_file(const std::string& path);

// Error{io} unless a file can be written there, which for one that is read-only takes --force; Error{option} if it is
// one of the files being read.
void check_output(const Arguments& arguments, const std::string& path, const std::vector<std::string>& inputs);

// Error{option} where two of the files to be written are one, also through links.
void check_different(const std::vector<std::string>& outputs);

// Error{io} unless the disk has room for a file of so many bytes there. What is no regular file has no disk.
void check_disk(const std::string& path, std::int64_t bytes);

}  // namespace topwolf::cli
