// Reads a data file and ends: the whole process is what is timed. Usage: bench_load FILE THREADS
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <topwolf/topwolf.hpp>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: bench_load FILE THREADS\n", stderr);
    return 2;
  }
  topwolf::LoadOptions options;
  options.path = argv[1];
  options.threads = std::atoi(argv[2]);
  try {
    const topwolf::Dataset data = topwolf::load_dataset(options);
    std::printf("%lld rows, %lld features, %lld classes\n", static_cast<long long>(data.X.rows()),
                static_cast<long long>(data.X.cols()), static_cast<long long>(data.classes.size()));
    std::fflush(stdout);
    std::_Exit(0);  // as the other side does: memory is given back by the system
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_load: %s\n", error.what());
    return 1;
  }
}
