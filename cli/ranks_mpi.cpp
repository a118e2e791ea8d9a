// Questions are broadcast; answers are added up in the tree of add_answers(), whose nodes belong to the owner of their
// first shard. Nothing here is a collective sum, whose order would be the library's.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/fail.hpp"
#include "ranks.hpp"

namespace topwolf::cli {
namespace {

constexpr int tag = 1;
constexpr std::int64_t no_more_questions = -1;
constexpr std::size_t most_bytes = std::size_t{1} << 30;  // of a message, whose size is an int

template <class Pass>
void in_pieces(std::string& bytes, const Pass& pass) {
  for (std::size_t at = 0; at < bytes.size(); at += most_bytes) {
    pass(bytes.data() + at, static_cast<int>(std::min(most_bytes, bytes.size() - at)));
  }
}

void send(std::string bytes, int to) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  MPI_Send(&size, 1, MPI_INT64_T, to, tag, MPI_COMM_WORLD);
  in_pieces(bytes, [&](char* at, int count) { MPI_Send(at, count, MPI_BYTE, to, tag, MPI_COMM_WORLD); });
}

std::string receive(int from) {
  std::int64_t size = 0;
  MPI_Recv(&size, 1, MPI_INT64_T, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  in_pieces(bytes,
            [&](char* at, int count) { MPI_Recv(at, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
  return bytes;
}

// The first process's to all; none: there are no more questions.
std::optional<std::string> broadcast(const std::string* question) {
  std::int64_t size = question ? static_cast<std::int64_t>(question->size()) : no_more_questions;
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (size == no_more_questions) return std::nullopt;
  std::string bytes = question ? *question : std::string(static_cast<std::size_t>(size), '\0');
  in_pieces(bytes, [&](char* at, int count) { MPI_Bcast(at, count, MPI_BYTE, 0, MPI_COMM_WORLD); });
  return bytes;
}

// An answer, or what went wrong instead: a letter, and the bytes.
constexpr char is_answer = 'A', is_error = 'E';

std::string guarded(const std::function<std::string()>& work) {
  const auto error = [](ErrorKind kind, const std::string& sentence) {
    return std::string{is_error, static_cast<char>('0' + static_cast<int>(kind))} + sentence;
  };
  try {
    return is_answer + work();
  } catch (const Error& thrown) {
    return error(thrown.kind(), thrown.sentence().marked());
  } catch (const std::bad_alloc&) {
    return error(ErrorKind::memory, "there is not enough memory for the shards of a process");
  }
}

std::string both(std::string left, std::string right) {
  if (left[0] == is_error) return left;
  if (right[0] == is_error) return right;
  return guarded([&] { return Shard::add(std::string_view(left).substr(1), std::string_view(right).substr(1)); });
}

// Of one process: what its shards answer, and its part in adding up.
class Part {
 public:
  Part(const Ranks& ranks, std::vector<Shard> own, std::int64_t shards)
      : ranks_(ranks), own_(std::move(own)), shards_(shards) {
    while (first_ < shards && ranks.owner(first_, shards) < ranks.rank) ++first_;
  }
  Part(const Ranks& ranks, std::string error, std::int64_t shards) : ranks_(ranks), shards_(shards), error_(error) {}

  // In the first process the answer of all.
  std::string answer(const std::string& question) {
    answers_.clear();
    for (Shard& shard : own_) answers_.push_back(guarded([&] { return shard.answer(question); }));
    return sum(0, shards_);
  }

 private:
  std::string sum(std::int64_t from, std::int64_t to) {
    const int left = ranks_.owner(from, shards_);
    if (to - from == 1) {
      if (left != ranks_.rank) return {};
      return error_.empty() ? std::move(answers_[static_cast<std::size_t>(from - first_)]) : error_;
    }
    std::int64_t half = 1;
    while (2 * half < to - from) half *= 2;
    const int right = ranks_.owner(from + half, shards_);
    std::string low = sum(from, from + half), high = sum(from + half, to);
    if (right != left && ranks_.rank == right) send(std::move(high), left);
    if (ranks_.rank != left) return {};
    return both(std::move(low), right == left ? std::move(high) : receive(right));
  }

  const Ranks ranks_;
  std::vector<Shard> own_;
  const std::int64_t shards_;
  const std::string error_;
  std::int64_t first_ = 0;
  std::vector<std::string> answers_;
};

class FirstRank final : public Shards {
 public:
  FirstRank(const Ranks& ranks, std::vector<Shard> own, std::int64_t shards) : part_(ranks, std::move(own), shards) {}
  ~FirstRank() override { broadcast(nullptr); }
  FirstRank(const FirstRank&) = delete;
  FirstRank& operator=(const FirstRank&) = delete;

  std::string ask(const std::string& question) override {
    broadcast(&question);
    const std::string answer = part_.answer(question);
    if (answer[0] == is_answer) return answer.substr(1);
    throw Error(static_cast<ErrorKind>(answer[1] - '0'), Sentence(answer.substr(2)));
  }

 private:
  Part part_;
};

}  // namespace

Ranks join_ranks() {
  static const Ranks joined = [] {
    int there = 0, provided = 0;
    MPI_Initialized(&there);
    if (!there) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit([] { MPI_Finalize(); });
    Ranks ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
    return ranks;
  }();
  return joined;
}

std::string from_first_rank(const Ranks& ranks, const std::string& text) {
  return broadcast(ranks.first() ? &text : nullptr).value();
}

std::unique_ptr<Shards> shards_of_ranks(const Ranks& ranks, std::vector<Shard> own, std::int64_t shards) {
  return std::make_unique<FirstRank>(ranks, std::move(own), shards);
}

void answer_first_rank(const Ranks& ranks, const std::function<std::vector<Shard>()>& own, std::int64_t shards) {
  std::vector<Shard> loaded;
  const std::string error = guarded([&] {
    loaded = own();
    return std::string();
  });
  Part part = error[0] == is_error ? Part(ranks, error, shards) : Part(ranks, std::move(loaded), shards);
  while (const auto question = broadcast(nullptr)) part.answer(*question);
}

}  // namespace topwolf::cli
