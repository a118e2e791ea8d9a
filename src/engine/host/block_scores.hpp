// Scores of a few rows at a time while the dual changes row by row: what block ascent on the host needs. The working
// values drift by rounding; reset() puts them right.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.hpp"
#include "engine/engine.hpp"

namespace topwolf {

class HostDual;

// Some entries (i, j) of an n x m matrix, row by row; columns ascend.
struct EntryList {
  std::vector<std::int64_t> row_begin;  // n + 1
  std::vector<std::int32_t> column;

  std::size_t size() const { return column.size(); }
  // Those of row i are [begin(i), end(i)).
  std::size_t begin(std::integral auto i) const {
    return static_cast<std::size_t>(row_begin[static_cast<std::size_t>(i)]);
  }
  std::size_t end(std::integral auto i) const { return begin(i + 1); }
  bool empty(std::integral auto i) const { return begin(i) == end(i); }
  std::int64_t rows() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
};

// Calls body(i, e) for every entry e of every row i.
template <class Body>
void for_entries(const EntryList& list, const Body& body) {
  for (std::int64_t i = 0; i < list.rows(); ++i) {
    for (std::size_t e = list.begin(i); e < list.end(i); ++e) body(i, e);
  }
}

// Steps U in many rows at once, with values for a fixed set of entries, on the working scores of a BlockScores.
class FaceScores {
 public:
  virtual ~FaceScores() = default;

  // After how many epochs a step on the face pays, which takes tens of products.
  virtual std::int64_t epochs_per_ascent() const { return 5; }

  // The entries must outlive their use.
  virtual void set_entries(const EntryList& entries) = 0;
  // The scores of the entries.
  virtual void entry_scores(std::vector<double>& S) = 0;
  // Returns lambda N ||W(U)||^2; S, where given, receives the scores of the entries under W(U).
  virtual double product(const std::vector<double>& U, std::vector<double>* S) = 0;
  // The dual has changed by gamma times the U of the last product.
  virtual void add_product(double gamma) = 0;
};

class BlockScores {
 public:
  virtual ~BlockScores() = default;

  // Rows step in batches of groups: those of a group one after another, each seeing what the others did (exactly), and
  // the groups of a batch at once, from the scores that they were loaded with (B2).
  virtual std::int64_t group_rows() const = 0;                     // the size of group it works best with
  virtual std::int64_t groups_to_begin_with() const { return 1; }  // of a batch
  virtual std::int64_t most_groups() const { return 1; }           // 1: the groups never step at once

  // Puts the rows of an epoch, which ascend, into the random order in which they are visited, each visits() times, and
  // says where its parts end. What is to be loaded from one part at a time is entered first, with the rows of the part
  // after it.
  virtual std::vector<std::int64_t> arrange(std::vector<std::int64_t>& order, Rng& rng) const {
    rng.shuffle(order);
    return {static_cast<std::int64_t>(order.size())};
  }
  virtual std::int64_t visits() const { return 1; }
  virtual void enter(std::span<const std::int64_t> /*rows*/, std::span<const std::int64_t> /*next*/) {}

  // Whether the rows of a part, once it was entered, take a step on the face of their own (B1) in every so many epochs,
  // in the place of one of all rows; 0: never. Returns what D gained.
  virtual std::int64_t epochs_per_part_ascent() const { return 0; }
  virtual double ascend_part(HostDual& /*A*/) { return 0.0; }

  // These rows are loaded next: their memory may be fetched meanwhile.
  virtual void expect(std::span<const std::int64_t>) const {}

  // S: (rows x m), the scores; G: (rows x group), the inner products of a row with those of its group (constant feature
  // included), where the first `group` rows are a group, and so on. A change of the alpha of row p changes the scores
  // of row r by G_rp times omega_p / (lambda N) times the change itself, or, where psi is curved, times what spread()
  // makes of it.
  virtual void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
                    std::vector<double>& G) = 0;

  // The alpha of rows[r], which were loaded last, has changed by `times` change[r]. Returns lambda N ||W(change)||^2,
  // which only those must know whose groups step at once.
  virtual double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) = 0;

  // Whether the scores of classes are coupled: psi(x, j) and psi(x, j') are not orthogonal, or not of the same length.
  virtual bool curved() const { return false; }
  // Curved: `scores` (m) become the products of the change with <psi(x_i, j), psi(x_i, j')>, as far as G does not say.
  virtual void spread(std::int64_t /*i*/, RowView /*change*/, std::vector<double>& /*scores*/) {}

  // W = W(A), computed elsewhere in double.
  virtual void reset(const std::vector<double>& W, const Dual& A) = 0;
  // The working scores become factor times what they were; 0: those of W = 0, whatever they were.
  virtual void scale(double factor) = 0;

  // Null where such steps cost more than they give.
  virtual FaceScores* face() { return nullptr; }

  // The working scores.
  virtual void exchange(State& state) = 0;
};

}  // namespace topwolf
