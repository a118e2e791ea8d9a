// Rows less their mean, of which no copy is made (ledger, C1): the mean, what lengths and inner products become,
// and how weights of rows x - mean turn into weights of rows x. Refuses to know what the weights are for.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/rows.hpp"

namespace topwolf {

// Of d features; null: rows as they are.
using SharedMean = std::shared_ptr<const std::vector<double>>;
inline const double* numbers(const SharedMean& mean) {
  return mean ? mean->data() : nullptr;
}

// sum_i omega_i x_i / N; omega empty: all 1. Sums run in the order of the rows, so that dense and sparse rows have the
// same bits.
std::vector<double> mean_of(const Features& X, std::span<const double> omega, double N, int threads);
inline std::vector<double> mean_of(const FeatureView& X, std::span<const double> omega, double N, int threads) {
  return mean_of(Features(X), omega, N, threads);
}

// ||x_i - mean||^2 of every row in double, with the constant feature.
std::vector<double> squared_lengths(const FeatureView& X, const std::vector<double>& mean, const Bias& bias,
                                    int threads);
std::vector<double> squared_lengths(const Features& X, const std::vector<double>& mean, const Bias& bias, int threads);
// <x_i, mean> of every row.
std::vector<double> products_with(const FeatureView& X, const std::vector<double>& mean, int threads);

// ---- Weights and sums, class by class (any number of rows x D); the constant feature must be given

// C1. Weights of rows x - mean become those that have the same scores on rows x.
void fold(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W);
// The other way round: what a sum over rows x becomes when it is over rows x - mean; and back.
void take_off(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W);
void put_back(const std::vector<double>& mean, const Bias& bias, std::vector<double>& W);

}  // namespace topwolf
